import type { ConnectorContext } from "../contract/connector.js";

/** A field of the connection. Undefined if the tenant left it empty. */
export function connectionField({ fields }: Pick<ConnectorContext, "fields">, key: string): string | undefined {
  return fields.get(key)?.reveal();
}

/** A field that the formula requires: stored connections always have it. @throws Error if it is absent. */
export function requiredField(context: ConnectorContext, key: string): string {
  const value = connectionField(context, key);
  if (value === undefined) throw new Error(`a connection lacks its required field ${key}`);
  return value;
}

/** The value of `mode`, for services whose key and other fields do not show it. Default: test. */
export function configuredMode(context: Pick<ConnectorContext, "fields">): string {
  return connectionField(context, "mode") ?? "test";
}

/** Whether the connection uses the service's live environment, for services whose key does not show it. */
export function isLive(context: Pick<ConnectorContext, "fields">): boolean {
  return connectionField(context, "mode") === "live";
}

/** Whether a text is a single label of a host name: then it cannot name another host. */
export function isHostLabel(text: string): boolean {
  return /^[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?$/.test(text);
}

/** The host of an address in log rows. */
export function hostIn(address: string | undefined): string | undefined {
  return address === undefined ? undefined : URL.parse(address)?.hostname;
}
