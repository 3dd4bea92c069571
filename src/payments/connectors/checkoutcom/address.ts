import type { ConnectorContext } from "../../connector.js";
import { fieldOf, requiredField } from "../fields.js";

/** As the official client tells them: newer keys go as bearer tokens, older ones bare. */
const LIVE_KEY = /^sk_?[a-z2-7]{26}[a-z2-7*#$=]$/;
const OLDER_KEY = /^sk_(?:test_)?\w{8}-\w{4}-\w{4}-\w{4}-\w{12}$/;
/** One label of a host name: it must not be able to name another host. */
const PREFIX = /^[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?$/;

/** Where the connection's environment is; undefined for a prefix that is no part of a name. */
export function checkoutcomAddress(context: ConnectorContext, configured: string | undefined): string | undefined {
  if (configured !== undefined) return configured;
  const host = checkoutcomMode(context) === "live" ? "api.checkout.com" : "api.sandbox.checkout.com";
  const prefix = fieldOf(context, "api_prefix");
  if (prefix === undefined) return `https://${host}`;
  return PREFIX.test(prefix) ? `https://${prefix}.${host}` : undefined;
}

/** What the key says, or else `mode`. */
export function checkoutcomMode(context: Pick<ConnectorContext, "fields">): string {
  const key = fieldOf(context, "secret_key") ?? "";
  if (LIVE_KEY.test(key)) return "live";
  return key.startsWith("sk_sbox_") ? "test" : (fieldOf(context, "mode") ?? "test");
}

export function authorizationHeader(context: ConnectorContext): string {
  const key = requiredField(context, "secret_key");
  return OLDER_KEY.test(key) ? key : `Bearer ${key}`;
}
