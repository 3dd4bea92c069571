import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { recordingDenials } from "../access/refusal.js";
import type { Fault } from "../base/fault.js";
import { FAULT_TABLE } from "./fault-table.js";
import { stillRunning } from "./idempotency.js";
import { type CallParts, showReplay } from "./transacting-call.js";

/**
 * The answer to a repeat that failed before its handler looked for an earlier request: in reading, validation, or what the
 * handler checks first. The first success is replayed whatever the new body (contract, Idempotency): an expiry that lies in
 * the past by now did not then.
 * @throws {Fault} idempotency_in_flight while the earlier request is at work; permission_denied where the caller lost the
 *   right.
 */
export async function earlierAnswer<Output extends DescMessage>(
  output: Output,
  parts: CallParts,
  fault: Fault,
): Promise<MessageShape<Output> | undefined> {
  const { database, caller } = parts;
  const idempotency = parts.takeIdempotency();
  // A failure of ours says nothing of the request: it will be sent again.
  if (!idempotency || !caller || FAULT_TABLE[fault.code].http >= 500) return undefined;
  const earlier = await recordingDenials(database, () =>
    database.fast.run(caller.tenantId, caller.revision, (tx) => idempotency.find(tx, output)),
  );
  if (earlier?.kind === "running") throw stillRunning();
  return earlier?.kind === "answered" ? showReplay(parts, earlier.replay) : undefined;
}
