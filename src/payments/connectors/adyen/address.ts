import type { ConnectorContext } from "../../connector.js";
import { fieldOf } from "../fields.js";

const VERSION = "/v71";
/** Part of a host name, and no more: it must not be able to name another host. */
const PREFIX = /^[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?$/;

/** Where the connection's environment is; undefined for a live one whose prefix is missing or no part of a name. */
export function adyenAddress(context: ConnectorContext, configured: string | undefined): string | undefined {
  if (configured !== undefined) return configured + VERSION;
  const prefix = fieldOf(context, "live_endpoint_prefix");
  if (adyenMode(context) === "test") return `https://checkout-test.adyen.com${VERSION}`;
  if (prefix === undefined || !PREFIX.test(prefix)) return undefined;
  return `https://${prefix}-checkout-live.adyenpayments.com/checkout${VERSION}`;
}

/** What `mode` says; where it is left out, whether there is a prefix to be live at. */
export function adyenMode(context: Pick<ConnectorContext, "fields">): string {
  return fieldOf(context, "mode") ?? (fieldOf(context, "live_endpoint_prefix") === undefined ? "test" : "live");
}
