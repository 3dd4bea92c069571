import type { ConnectorContext } from "../../contract/connector.js";
import { connectionField, isHostLabel } from "../fields.js";

const VERSION = "/v71";

/** The address of the connection's environment. Undefined for a live connection whose prefix is missing or invalid. */
export function adyenAddress(
  context: Pick<ConnectorContext, "fields">,
  configured: string | undefined,
): string | undefined {
  if (configured !== undefined) return configured + VERSION;
  const prefix = connectionField(context, "live_endpoint_prefix");
  if (adyenMode(context) === "test") return `https://checkout-test.adyen.com${VERSION}`;
  if (prefix === undefined || !isHostLabel(prefix)) return undefined;
  return `https://${prefix}-checkout-live.adyenpayments.com/checkout${VERSION}`;
}

/** The value of `mode`. Default: live if there is a live prefix. */
export function adyenMode(context: Pick<ConnectorContext, "fields">): string {
  return (
    connectionField(context, "mode") ??
    (connectionField(context, "live_endpoint_prefix") === undefined ? "test" : "live")
  );
}
