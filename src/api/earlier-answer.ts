import type { DescMessage } from "@bufbuild/protobuf";
import type { Fault } from "../base/fault.js";
import { FAULT_TABLE } from "./fault-table.js";
import { type Replay, stillRunning } from "./idempotency.js";
import type { CallParts } from "./transacting-call.js";

/**
 * What an earlier request with the same idempotency key was answered, where this one failed before anybody asked: in
 * reading, validation, or what its handler checks first. The first success is told again whatever the new body (contract,
 * Idempotency): an expiry that lies in the past by now did not then.
 * @throws {Fault} idempotency_in_flight while the earlier request is at work.
 */
export async function earlierAnswer<Output extends DescMessage>(
  output: Output,
  { database, caller, takeIdempotency, onDifferentRepeat }: CallParts,
  fault: Fault,
): Promise<Replay<Output> | undefined> {
  const idempotency = takeIdempotency();
  // A failure of ours says nothing of the request: it will be sent again.
  if (!idempotency || !caller || FAULT_TABLE[fault.code].http >= 500) return undefined;
  const earlier = await database.fast.run(caller.tenantId, caller.revision, (tx) =>
    idempotency.findOperation(tx, output),
  );
  if (earlier?.kind === "running") throw stillRunning();
  if (earlier?.kind !== "answered") return undefined;
  if (earlier.replay.differs) onDifferentRepeat();
  return earlier.replay;
}
