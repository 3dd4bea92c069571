import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Network } from "../base/network.js";
import type { Sensitive } from "../crypto/sensitive.js";
import { FORMULA_IDS, type FormulaId } from "../payments/contract/formula.js";
import { ConfigError, refusedAddress } from "./config-error.js";
import type { Name } from "./settings.js";

/** Without a slash at the end. */
export function readPublicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  // Paths are appended to the text, so it has nothing after its path, and nothing that only a tolerant parser accepts.
  const isPlain = /^https?:\/\/[^/?#@\s\\]+(?:\/[^?#\s\\]*)?$/i.test(text);
  if (isPlain && URL.canParse(text)) return text.replace(/\/+$/, "");
  throw new ConfigError(
    `CLOAKROOM_PUBLIC_URL must be an address such as https://vault.example.com, without user, password, query and fragment${refusedAddress(text)}.`,
  );
}

/** Origins whose pages may call the API; `*` for all. */
export function readOrigins(text: string): string[] {
  const origins = text.split(",").map((origin) => origin.trim());
  for (const origin of origins) {
    if (origin !== "*" && !(URL.canParse(origin) && new URL(origin).origin === origin)) {
      throw new ConfigError(
        `CLOAKROOM_CORS_ORIGINS must be * or origins such as https://shop.example.com, separated by commas; one is not${refusedAddress(origin)}.`,
      );
    }
  }
  return origins;
}

/** Names of hosts, separated by commas. */
export function readHostNames(name: Name, list: string): string[] {
  const entries = list.split(",").map((entry) => entry.trim());
  const names = entries.filter((entry) => entry !== "");
  const wrong = names.find((entry) => !/^[a-z0-9_-]{1,63}(?:[.][a-z0-9_-]{1,63})*$/i.test(entry));
  if (wrong === undefined) return names;
  throw new ConfigError(
    `CLOAKROOM_${name} must be names such as vault.example.com, without port and wildcards, separated by commas; "${wrong}" is not valid.`,
  );
}

/** Addresses and networks, separated by commas. */
export function readNetworks(name: Name, list: string): Network[] {
  const entries = list.split(",").map((entry) => entry.trim());
  return entries.filter((entry) => entry !== "").map((entry) => readNetwork(name, entry));
}

function readNetwork(name: Name, entry: string): Network {
  const [ip = "", ...further] = entry.split("/");
  const isSingle = further.length === 0;
  // ipaddr.js alone also reads 10/8 as 0.0.0.10/8, and 010.0.0.1 as 8.0.0.1.
  if (isIP(ip) === 0 || !(isSingle ? ipaddr.isValid(entry) : ipaddr.isValidCIDR(entry))) {
    throw new ConfigError(
      `CLOAKROOM_${name} must be addresses or networks such as 10.0.0.0/8, separated by commas; "${entry}" is not valid.`,
    );
  }
  const [address, bits] = isSingle ? [ipaddr.parse(entry), undefined] : ipaddr.parseCIDR(entry);
  const family = address.kind();
  return { address: address.toString(), prefix: bits ?? (family === "ipv4" ? 32 : 128), family };
}

/**
 * `stripe-card=http://127.0.0.1:12111,adyen-card=...`. A setting and not a tenant's field: otherwise a tenant could
 * send cards anywhere.
 */
export function readPaymentAddresses(text: string): ReadonlyMap<FormulaId, string> {
  const entries = text.split(",").filter((entry) => entry.trim() !== "");
  return new Map(
    entries.map((entry): [FormulaId, string] => {
      const [name = "", address = ""] = entry.trim().split(/=(.*)/s);
      const formula = FORMULA_IDS.find((id) => id === name);
      if (formula && /^https?:$/.test(URL.canParse(address) ? new URL(address).protocol : "")) {
        return [formula, address.replace(/\/+$/, "")];
      }
      throw new ConfigError(
        `CLOAKROOM_PAYMENT_ADDRESSES must be entries such as stripe-card=https://stripe.example.com, separated by commas; ${formula ? `that of ${formula}` : "one"} is not valid.`,
      );
    }),
  );
}

/** The message does not repeat the value, which may contain a password. */
export function readRedisUrl(url: Sensitive<string> | undefined): Sensitive<string> | undefined {
  if (url && !/^rediss?:\/\/.+/.test(url.reveal())) {
    throw new ConfigError("CLOAKROOM_REDIS_URL must be an address such as redis://valkey.example.com:6379.");
  }
  return url;
}
