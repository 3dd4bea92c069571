import type { Sensitive } from "../crypto/sensitive.js";
import { ConfigError, refusedAddress } from "./config-error.js";
import { type Environment, readOptional, readSecret } from "./setting-values.js";

/** The operator's registration at an OpenID Connect issuer. */
export interface OpenIdConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Sensitive<string>;
  /** Values of the claims `amr` and `acr` that stand for a second factor. */
  readonly secondFactor: { readonly amr: readonly string[]; readonly acr: readonly string[] };
}

/** @throws {ConfigError} if some of the first three are missing, or the issuer is at no https address. */
export function readOpenId(environment: Environment): OpenIdConfig | undefined {
  const issuer = readOptional(environment, "OPENID_ISSUER");
  const clientId = readOptional(environment, "OPENID_CLIENT_ID");
  const clientSecret = readSecret(environment, "CLOAKROOM_OPENID_CLIENT_SECRET");
  const factor = readOptional(environment, "OPENID_SECOND_FACTOR");
  if ([issuer, clientId, clientSecret, factor].every((value) => value === undefined)) return undefined;
  const secondFactor = readSecondFactor(factor);
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    const three = "CLOAKROOM_OPENID_ISSUER, CLOAKROOM_OPENID_CLIENT_ID and CLOAKROOM_OPENID_CLIENT_SECRET";
    const hasNone = [issuer, clientId, clientSecret].every((value) => value === undefined);
    throw new ConfigError(hasNone ? `CLOAKROOM_OPENID_SECOND_FACTOR needs ${three}.` : `Set all of ${three}, or none.`);
  }
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url?.hostname ?? "");
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback);
  const isPlain = url?.search === "" && url.hash === "" && url.username === "" && url.password === "";
  if (isSafe && isPlain) return { issuer, clientId, clientSecret, secondFactor };
  throw new ConfigError(
    `CLOAKROOM_OPENID_ISSUER must be an https address such as https://id.example.com, without user, password, query and fragment${refusedAddress(issuer)}.`,
  );
}

function readSecondFactor(value: string | undefined): OpenIdConfig["secondFactor"] {
  const amr: string[] = [];
  const acr: string[] = [];
  for (const entry of value?.split(",") ?? []) {
    const [, claim, accepted = ""] = /^\s*(amr|acr)=([\x21-\x7e]{1,200})\s*$/.exec(entry) ?? [];
    if (claim === undefined) {
      throw new ConfigError(
        `CLOAKROOM_OPENID_SECOND_FACTOR must be values such as amr=mfa,acr=phr, separated by commas; it is "${value}".`,
      );
    }
    (claim === "amr" ? amr : acr).push(accepted);
  }
  return { amr, acr };
}
