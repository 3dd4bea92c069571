import { parseUuid, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import type { LoggedRequest } from "../store/audit/audit-logs.js";

/** The proxy or reactor that a request goes through. An ephemeral proxy has no id. */
export interface Via {
  readonly type: "proxy" | "reactor";
  readonly id: Uuid | undefined;
}

/** What a request tells log rows about itself, beside its actor. */
export interface AuditContext extends LoggedRequest {
  readonly via: Via | undefined;
}

/** A context to be stored until work that a request asked for is done. */
export function writeContext({ address, client, traceId, reason }: AuditContext): JsonObject {
  return { address: address ?? null, client: client ?? null, trace_id: traceId ?? null, reason: reason ?? null };
}

/** Reads a stored context. Parts that it does not have are absent. */
export function readContext(stored: Json | undefined): AuditContext {
  const part = isJsonObject(stored) ? stored : {};
  const text = (value: Json | undefined) => (typeof value === "string" ? value : undefined);
  const traceId = parseUuid(text(part.trace_id) ?? "");
  return {
    ...EMPTY_CONTEXT,
    traceId,
    address: text(part.address),
    client: text(part.client),
    reason: text(part.reason),
  };
}

/** Of work that no request causes: jobs. */
export const EMPTY_CONTEXT: AuditContext = {
  address: undefined,
  client: undefined,
  traceId: undefined,
  reason: undefined,
  via: undefined,
  destinationHost: undefined,
};

/** Of the operator's commands. */
export const OPERATOR_CONTEXT: AuditContext = { ...EMPTY_CONTEXT, client: "operator" };
