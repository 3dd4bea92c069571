import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { asCaller } from "../../access/caller-database.js";
import { recordingDenials } from "../../access/refusal.js";
import type { Fault } from "../../base/fault.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { requestInFlight } from "./idempotency.js";
import type { RunningCall } from "./running-call.js";
import { showReplay } from "./transacting-call.js";

/**
 * The response to a repeat that failed before its handler looked for an earlier request: in reading, validation, or the
 * handler's first checks. The first success is replayed whatever the new body (docs/idempotency.md): for example, an
 * expiry that was in the future then may be past now.
 * @throws {Fault} idempotency_in_flight while the earlier request is running; permission_denied if the caller lost the
 * right.
 */
export async function replayForFailedRepeat<Output extends DescMessage>(
  output: Output,
  parts: RunningCall,
  fault: Fault,
): Promise<MessageShape<Output> | undefined> {
  const { database, caller, keys, head } = parts;
  const idempotency = parts.takeIdempotency();
  // An internal error says nothing of the request: the client will retry.
  if (!idempotency || !caller || !keys || FAULT_TABLE[fault.code].http >= 500) return undefined;
  const earlier = await recordingDenials(database, () =>
    asCaller(database, keys, caller, head.memory).shared((tx) => idempotency.find(tx, output)),
  );
  if (earlier?.kind === "running") throw requestInFlight();
  return earlier?.kind === "completed" ? showReplay(parts, earlier.replay) : undefined;
}
