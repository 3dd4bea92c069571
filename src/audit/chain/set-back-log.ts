import { DAY_MS, MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import { NO_SEAL } from "../../crypto/log-seal.js";
import { insertSeal, moveChainHead } from "../../store/audit/audit-seals.js";
import { endOfFollowedRange } from "../../store/audit/followed-logs.js";
import {
  countSetAside,
  lockSetBack,
  planSetBack,
  readLogClosing,
  reopenLog,
  type SetBack,
  setRowsAside,
} from "../../store/audit/log-clock.js";
import type { TenantTransactions } from "../../store/database.js";
import { ANY_ENTITY_ID } from "../log-entry.js";
import { openTenant } from "../tenant-database.js";
import { nextPosition } from "./attestations.js";
import { ChainConflict, readChain, signHead, signMark } from "./chain.js";
import { ChainHistory } from "./chain-history.js";
import { type SealParts, sealClosed } from "./seal-log.js";
import { lastSignedBody, signSeals } from "./sign-seals.js";

/** Approximate number of rows that one transaction sets aside. */
const BATCH = 5_000;
/** An older unfinished set-back restarts from the beginning: its record may be forged. */
const BEGUN_WITHIN_MS = DAY_MS;

/**
 * - `set back`: the log continues at the present minute
 * - `not ahead`: by the database's clock the log is not closed beyond the present
 * - `refused`: the chain has no head; an operator must restart it first
 * - `overtaken`: another process was faster
 */
export type SetBackOutcome =
  | { readonly kind: "set back"; readonly from: Date; readonly to: Date; readonly rows: number }
  | { readonly kind: "not ahead"; readonly closedUntil: Date | undefined; readonly now: Date | undefined }
  | { readonly kind: "refused" | "overtaken" };

/**
 * Sets a tenant's log back to the present, after a fast clock closed minutes ahead of time and was corrected: otherwise
 * writes would fail until real time has passed the closed minutes. Rows with a wrong time stay as they are and stay
 * sealed. They are marked as set aside, which lets the same minutes have rows and seals of their own later, and an
 * entry of the chain records since when. Only the database's clock counts, and only minutes that have not begun by it
 * are touched: the past cannot be reopened. Any process can interrupt and repeat it at any point.
 */
export async function setBackLog(given: SealParts, tenantId: TenantId): Promise<SetBackOutcome> {
  const { database, history = new ChainHistory() } = given;
  const parts = { ...given, history };
  const log = database.of(tenantId);
  const closing = await log.bulk((tx) => tx.query(readLogClosing, "closing"));
  const closedUntil = closing?.closed_until ?? undefined;
  if (!closing || !closedUntil || closedUntil <= closing.now)
    return { kind: "not ahead", closedUntil, now: closing?.now };
  const present = new Date(Math.floor(closing.now.getTime() / MINUTE_MS) * MINUTE_MS);
  // An interrupted attempt has set rows aside from an earlier minute on, and no row was written since.
  const request = { to: present, earliest: new Date(closing.now.getTime() - BEGUN_WITHIN_MS), closedUntil };
  const planned = await log.bulk((tx) => tx.query(planSetBack, request));
  if (!planned) return { kind: "overtaken" };
  const { to } = planned;
  const plan: SetBack = { to, closedUntil };

  // A crash between closing and sealing leaves closed minutes without seals.
  const sealed = await sealClosed(parts, tenantId, { until: closedUntil });
  if (sealed === "refused" || sealed === "overtaken") return { kind: sealed };
  const work = await openTenant(parts, tenantId);
  const { keys } = work;
  const chain = await work.bulk(readChain);
  const isWhole = (await history.stateOf(parts, tenantId, chain)) === "whole";
  const { number, previous } = nextPosition({ ...chain, isWhole }, history.reached(tenantId));
  try {
    const count = await setAside(log, plan, number);
    await work.bulk(async (tx) => {
      const found = await readChain(tx);
      const { stored, head } = found;
      if (stored?.number !== chain.stored?.number) throw new ChainConflict();
      const before = await lastSignedBody(tx, found);
      const mark = { kind: "set_back", at: to, number, count, digest: NO_SEAL, subject: undefined, previous } as const;
      const row = signMark(keys, mark);
      const { keptFrom, archivedFrom, attested } = head ?? { keptFrom: undefined, attested: undefined };
      if (!(await tx.query(reopenLog, plan))) throw new ChainConflict();
      tx.log("log", ANY_ENTITY_ID, "update", "clock set back");
      const signed = await signSeals(keys, [row], { before, at: tx.now });
      for (const seal of signed) tx.enqueue(insertSeal, seal);
      // By the fast clock rows were freed that are not past their retention, among them some to come.
      const kept = keptFrom && keptFrom > to ? to : keptFrom;
      const next = signHead(keys, { number, lastMac: row.mac, keptFrom: kept, archivedFrom, attested });
      if (!(await tx.query(moveChainHead, { before: stored?.mac, head: next }))) throw new ChainConflict();
    });
    history.note(tenantId, number);
    return { kind: "set back", from: closedUntil, to, rows: count };
  } catch (error) {
    if (error instanceof ChainConflict) return { kind: "overtaken" };
    throw error;
  }
}

/**
 * Sets the rows of closed minutes aside, range by range: no statement passes over those of the ranges before. Another
 * process may do the same, and one that was killed may have done a part.
 * @returns how many rows are set aside.
 * @throws {ChainConflict} if the log is not being set back any more.
 */
async function setAside(log: TenantTransactions, plan: SetBack, number: number): Promise<number> {
  let rows = 0;
  let from = plan.to;
  while (from < plan.closedUntil) {
    const { until, count } = await log.bulk(async (tx) => {
      if (!(await tx.query(lockSetBack, plan))) throw new ChainConflict();
      const end = await tx.query(endOfFollowedRange, { from, until: plan.closedUntil, rows: BATCH });
      const range = { from, until: end && end > from ? end : plan.closedUntil, number };
      await tx.query(setRowsAside, range);
      return { until: range.until, count: await tx.query(countSetAside, range) };
    });
    rows += count;
    from = until;
  }
  return rows;
}
