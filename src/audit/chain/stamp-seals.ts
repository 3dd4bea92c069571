import { newUuid, type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import { AnchorTree } from "../../crypto/anchor-tree.js";
import { hashOfSigned } from "../../crypto/log-signing.js";
import type { TimeStamp } from "../../crypto/time-stamp.js";
import { insertAnchor, insertStamp, readLastAnchored } from "../../store/audit/audit-anchors.js";
import { deleteLogDue, readLastSigned } from "../../store/audit/audit-seals.js";
import type { Database } from "../../store/database.js";
import { readBody } from "./seal-body.js";

/** Says when it saw a hash, by a token that others can verify. */
export interface TimeStampAuthority {
  /**
   * @param imprint SHA-256.
   * @throws {StampFailed}
   */
  stamp(imprint: Buffer, signal: AbortSignal): Promise<TimeStamp & { readonly token: Buffer }>;
}

/** The authority gave no valid time stamp. The reason consists of fixed words and codes. */
export class StampFailed extends Error {
  override readonly name = "StampFailed";
}

export interface StampTask {
  readonly tenantId: TenantId;
  readonly dueAt: Date;
}

export interface StampParts {
  readonly database: Database;
  readonly authority: TimeStampAuthority;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

interface LastSeal {
  readonly task: StampTask;
  readonly number: number;
  /** The hash of its signed text. */
  readonly body: string;
}

/**
 * Gets one time stamp over the last seals of these tenants, and stores it with a proof for each tenant. The authority
 * sees a hash alone. After a crash in between, the tenants that are left get another stamp.
 * @throws {StampFailed}
 */
export async function stampSeals(parts: StampParts, tasks: readonly StampTask[], signal: AbortSignal): Promise<void> {
  const { database, authority, onFailure } = parts;
  const seals: LastSeal[] = [];
  for (const task of tasks) {
    if (signal.aborted) return;
    try {
      const seal = await lastSignedSeal(database, task);
      if (seal) seals.push(seal);
      else await forget(database, task);
    } catch (error) {
      onFailure(task.tenantId, error);
    }
  }
  if (seals.length === 0) return;
  const tree = new AnchorTree(seals.map(({ body }) => body));
  const { token, time } = await authority.stamp(tree.root, signal);
  const stamp = { id: newUuid(), stamped_at: time, token };
  await database.of(VAULT_TENANT_ID).bulk(async (tx) => {
    tx.enqueue(insertStamp, stamp);
  });
  for (const [index, { task, number }] of seals.entries()) {
    if (signal.aborted) return;
    const anchor = { number, stamp_id: stamp.id, proof: tree.proofOf(index).join(" ") };
    await database
      .of(task.tenantId)
      .bulk(async (tx) => {
        tx.enqueue(insertAnchor, anchor);
        tx.enqueue(deleteLogDue, { kind: "log_stamp", minute: task.dueAt });
      })
      .catch((error: unknown) => onFailure(task.tenantId, error));
  }
}

/** Undefined if a stamp covers it already, or no entry is signed. */
async function lastSignedSeal(database: Database, task: StampTask): Promise<LastSeal | undefined> {
  const { text, anchored } = await database.of(task.tenantId).bulk(async (tx) => {
    const [text, anchored] = await Promise.all([tx.query(readLastSigned, "last"), tx.query(readLastAnchored, "last")]);
    return { text, anchored };
  });
  const number = text === null ? undefined : readBody(text)?.number;
  if (text === null || number === undefined || number <= anchored) return undefined;
  return { task, number, body: hashOfSigned(text) };
}

function forget(database: Database, { tenantId, dueAt }: StampTask): Promise<void> {
  return database.of(tenantId).bulk(async (tx) => {
    tx.enqueue(deleteLogDue, { kind: "log_stamp", minute: dueAt });
  });
}
