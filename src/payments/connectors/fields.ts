import type { ConnectorContext } from "../connector.js";

/** A field of the connection, for the service that it belongs to. Undefined where the tenant left it empty. */
export function fieldOf({ fields }: Pick<ConnectorContext, "fields">, key: string): string | undefined {
  return fields.get(key)?.reveal();
}

/** The formula requires the field: connections are not stored without. @throws Error when it is absent all the same. */
export function requiredField(context: ConnectorContext, key: string): string {
  const value = fieldOf(context, key);
  if (value === undefined) throw new Error(`a connection lacks its required field ${key}`);
  return value;
}

/** Whether the connection is to the service's live environment, where the key does not tell. */
export function isLive(context: ConnectorContext): boolean {
  return fieldOf(context, "mode") === "live";
}
