import type { Steps } from "../../base/caller-turns.js";
import type { TenantId } from "../../base/ids.js";
import type { Engine } from "../postgres/open-connection.js";
import { BatchedRequest } from "./batched-request.js";
import type { LargeReads } from "./large-reads.js";
import type { OrdinaryTransaction, TransactionStart, Work } from "./transaction.js";

/** The revision under which all requests of a transaction were authorized. Undefined for the server's own work. */
export type Guard = number | undefined;

export interface TransactionWork {
  readonly work: Work<unknown, OrdinaryTransaction>;
  readonly reads: LargeReads;
}

export interface StartOptions extends TransactionStart {
  readonly tenantId: TenantId;
  readonly isShared: boolean;
}

/** Starts works: each seals a value or two. The database knows nothing of their transaction yet. */
export function* startAll(
  works: readonly TransactionWork[],
  options: StartOptions,
  engine: Engine,
): Steps<BatchedRequest[]> {
  const requests: BatchedRequest[] = [];
  for (const { work, reads } of works) {
    yield;
    const request = new BatchedRequest(options, engine, reads);
    request.start(work);
    requests.push(request);
  }
  return requests;
}

/**
 * Resolves when every work has ended or awaits an output: a tick requested in a promise callback runs after all promise
 * callbacks. A turn of the event loop would also do, but takes 30 ms if hundreds of requests arrive in each.
 */
export function everyoneWaits(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}

/** A work that awaits something else, or threw after it had written. */
export interface Culprit {
  readonly culprit: number;
  readonly error: unknown;
}

export function culpritAmong(requests: readonly BatchedRequest[]): Culprit | undefined {
  const culprit = requests.findIndex((request) => request.isElsewhere || hasFailedLate(request));
  return culprit < 0 ? undefined : { culprit, error: requestError(requests[culprit]) };
}

function hasFailedLate({ hasWritten, outcome }: BatchedRequest): boolean {
  return hasWritten && outcome?.ok === false;
}

function requestError(request: BatchedRequest | undefined): unknown {
  return request?.outcome?.ok === false
    ? request.outcome.error
    : new Error("work awaited something outside its transaction");
}
