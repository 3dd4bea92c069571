import { mustDiscardSession } from "../postgres/database-error.js";
import type { Connection } from "../wire/connection.js";
import type { BatchedRequest } from "./batched-request.js";
import type { CommitMarker } from "./transaction.js";

export type TransactionResult =
  /** Committed. Includes work that threw before it wrote anything, with its error. */
  | { readonly kind: "committed"; readonly requests: readonly BatchedRequest[] }
  /** Nothing is stored. `culprit` is the index of the work that threw after it had written. */
  | {
      readonly kind: "aborted";
      readonly error: unknown;
      readonly culprit?: number;
      readonly table?: string | undefined;
    }
  /** Nothing is stored. The works failed in a pipeline, or write before their last step: they need a transaction block. */
  | {
      readonly kind: "apart";
      readonly error?: unknown;
      readonly table?: string | undefined;
    }
  /**
   * The commit was sent but not acknowledged. The marker shows whether it happened, once the process `backend` has
   * ended.
   */
  | {
      readonly kind: "unknown";
      readonly marker: CommitMarker;
      readonly backend: number;
      readonly requests: readonly BatchedRequest[];
    };

/** Whether the transaction stored a log row. */
export function hasLogged(result: TransactionResult): boolean {
  return (
    result.kind === "committed" && result.requests.some((request) => request.hasLogged && request.outcome?.ok !== false)
  );
}

/** Whether the session may still be at work on the transaction. */
export function mustDiscardSessionAfter(result: TransactionResult): boolean {
  switch (result.kind) {
    case "committed":
      return false;
    case "unknown":
      return true;
    case "apart":
      return result.error !== undefined && mustDiscardSession(result.error);
    case "aborted":
      return result.culprit === undefined && mustDiscardSession(result.error);
  }
}

/**
 * The marker shows whether the commit happened. Work that sets none may run twice, such as a read, which is then logged
 * twice.
 */
export function unknownCommit(
  { processId }: Connection,
  requests: readonly BatchedRequest[],
  error: unknown,
): TransactionResult {
  const marker = requests.find(({ outcome, marker }) => outcome?.ok && marker)?.marker;
  return marker ? { kind: "unknown", marker, backend: processId, requests } : { kind: "aborted", error };
}
