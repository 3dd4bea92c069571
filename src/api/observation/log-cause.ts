import { Fault, Reason } from "../../base/fault.js";
import type { TenantId } from "../../base/ids.js";
import { EgressError } from "../../egress/egress-error.js";
import type { LogFields, OperatorLog } from "./operator-log.js";

/** Fields of the operator's log with the cause of a failure, and the destination of an outgoing call. */
export function causeFields(error: unknown): Pick<LogFields, "cause" | "host" | "port"> {
  const origin = originOf(error);
  return { cause: causeOf(origin), ...(origin instanceof EgressError ? origin.destination : {}) };
}

/** Logs the failure of a job for one tenant. The job retries that tenant. */
export function tenantFailure(log: OperatorLog, job: string, message: string) {
  return (tenantId: TenantId, error: unknown): void =>
    log.error({ tenant_id: tenantId, job, ...causeFields(error) }, message);
}

/** A fault is worded for callers; its cause says more. */
function originOf(error: unknown): unknown {
  return error instanceof Fault && error.cause !== undefined ? error.cause : error;
}

/**
 * A fixed text or a code if there is one, otherwise the class and place of the error. Other messages may contain a
 * value.
 */
function causeOf(error: unknown): string {
  if (error instanceof Reason) return error.message;
  if (error instanceof Fault) return error.code;
  if (error instanceof EgressError) return [error.reason, error.systemCode].filter((word) => word).join(" ");
  if (!(error instanceof Error)) return "unknown";
  return `${error.name} at ${sourceLineOf(error)}`;
}

/** The message precedes the frames and may contain lines like theirs, so it is skipped as a whole. */
function sourceLineOf({ message, stack = "" }: Error): string {
  const end = stack.indexOf(message);
  const frames = end < 0 ? [] : stack.slice(end + message.length).split("\n");
  const frame = frames.find((line) => line.trimStart().startsWith("at ")) ?? "";
  return /(?:src|dist|node_modules)\/[^)]*/.exec(frame)?.[0] ?? "an unknown place";
}
