import type { ConnectorContext } from "../../contract/connector.js";
import { connectionField, isHostLabel, requiredField } from "../fields.js";

/**
 * The same distinction as in the official client: newer keys are sent as bearer tokens, older ones without a scheme.
 */
const LIVE_KEY = /^sk_?[a-z2-7]{26}[a-z2-7*#$=]$/;
const OLDER_KEY = /^sk_(?:test_)?\w{8}-\w{4}-\w{4}-\w{4}-\w{12}$/;

/** The address of the connection's environment. Undefined for an invalid prefix. */
export function checkoutcomAddress(
  context: Pick<ConnectorContext, "fields">,
  configured: string | undefined,
): string | undefined {
  if (configured !== undefined) return configured;
  const host = checkoutcomMode(context) === "live" ? "api.checkout.com" : "api.sandbox.checkout.com";
  const prefix = connectionField(context, "api_prefix");
  if (prefix === undefined) return `https://${host}`;
  return isHostLabel(prefix) ? `https://${prefix}.${host}` : undefined;
}

/** The key's mode, or `mode` if the key does not show one. */
export function checkoutcomMode(context: Pick<ConnectorContext, "fields">): string {
  const key = connectionField(context, "secret_key") ?? "";
  if (LIVE_KEY.test(key)) return "live";
  return key.startsWith("sk_sbox_") ? "test" : (connectionField(context, "mode") ?? "test");
}

export function authorizationHeader(context: ConnectorContext): string {
  const key = requiredField(context, "secret_key");
  return OLDER_KEY.test(key) ? key : `Bearer ${key}`;
}
