import { DAY_MS, MINUTE_MS } from "../../base/clock.js";
import { type ChainHead, macOfMinute, SEAL_FORMAT } from "../../crypto/log-seal.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { SinkName } from "../../sinks/sink.js";
import { noteKeyUse } from "../../store/access/application-keys.js";
import { type HeadRow, insertSeal, moveChainHead, type NewSeal, type SealRow } from "../../store/audit/audit-seals.js";
import { lockClosedLog } from "../../store/audit/log-clock.js";
import { addActorCounts, addLogCount, findKnownActors } from "../../store/audit/log-counts.js";
import { scheduleDue } from "../../store/jobs/due.js";
import type { Transaction } from "../../store/transactions/transaction.js";
import { nextPosition } from "./attestations.js";
import { type Chain, ChainConflict, signHead } from "./chain.js";
import type { CountedMinute } from "./minute-digests.js";
import type { RowCounts } from "./row-counts.js";
import { signSeals, type UnsignedSeal } from "./sign-seals.js";

export interface SignedChain extends Chain {
  readonly signed: string | undefined;
}

/** Seals of consecutive minutes with rows, which a chain is to go on with. */
export interface NextSeals {
  /** The MAC of the head that they follow. Absent: the chain has none. */
  readonly before: Buffer | undefined;
  readonly seals: readonly NewSeal[];
  /** What the rows of each minute say. */
  readonly counts: readonly RowCounts[];
  /** The chain with them. */
  readonly chain: SignedChain & { readonly stored: HeadRow };
}

/**
 * @param reached the highest number that the chain is known to have reached.
 * @param at the time of signing.
 */
export async function nextSeals(
  keys: TenantKeys,
  chain: SignedChain,
  counted: readonly CountedMinute[],
  { reached, at }: { readonly reached: number; readonly at: Date },
): Promise<NextSeals> {
  let { number, previous } = nextPosition(chain, reached);
  const version = keys.audit.current;
  const unsigned = counted.map(({ windowStart, rowCount, digest }, index): UnsignedSeal => {
    if (index > 0) number += 1;
    const mac = macOfMinute(keys.audit, version, keys.tenantId, { windowStart, rowCount, digest, number, previous });
    const seal = {
      kind: "minute",
      version: SEAL_FORMAT,
      subject: null,
      window_start: windowStart,
      number,
      row_count: rowCount,
      digest: Buffer.from(digest),
      previous: Buffer.from(previous),
      key_version: version,
      mac,
    };
    previous = mac;
    return seal;
  });
  const seals = await signSeals(keys, unsigned, { before: chain.signed, at });
  // The content of a tampered head is not carried over.
  const kept = chain.head ?? { keptFrom: undefined, attested: undefined };
  const head: ChainHead = { ...kept, number, lastMac: previous };
  const signed = seals.at(-1)?.signed_body ?? chain.signed;
  const stored = signHead(keys, head);
  return {
    before: chain.stored?.mac,
    seals,
    counts: counted.map(({ counts }) => counts),
    chain: { stored, head, last: undefined, isWhole: true, signed },
  };
}

export interface SealReceivers {
  readonly sinks?: readonly SinkName[];
  /** A time-stamp authority stamps the last seal of each day. */
  readonly isStamped?: boolean;
}

/**
 * Writes them, the counts of their rows, and what is due with them.
 * @param until up to where the log must be closed: another process may have set it back since its rows were read, which
 *   reopens its last minutes.
 * @throws {ChainConflict} if the log is not closed any more, or its chain has gone on.
 */
export async function writeSeals(
  tx: Transaction,
  { before, seals, counts, chain }: NextSeals,
  { until, sinks = [], isStamped = false }: SealReceivers & { readonly until: Date },
): Promise<void> {
  const tomorrow = nextDay(seals.at(-1)?.window_start ?? new Date(0));
  const closed = tx.query(lockClosedLog, until);
  for (const seal of seals) tx.enqueue(insertSeal, seal);
  const moved = tx.query(moveChainHead, { before, head: chain.stored });
  const actors = counts.flatMap((ofMinute) => ofMinute.actors);
  const known = findKnownActors(tx, actors);
  scheduleDue(tx, { kind: "log_retention", at: tomorrow });
  if (isStamped) scheduleDue(tx, { kind: "log_stamp", at: tomorrow });
  for (const sink of sinks) scheduleDue(tx, { kind: `log_${sink}`, at: tx.now });
  const [isClosed, hasMoved, knownActors] = await Promise.all([closed, moved, known]);
  if (!isClosed || !hasMoved) throw new ChainConflict();
  for (const { rows } of counts) for (const count of rows) addLogCount(tx, count);
  addActorCounts(tx, actors, knownActors);
  const uses = new Map(counts.flatMap(({ keyUses }) => keyUses.map((use) => [use.id, use])));
  for (const use of uses.values()) tx.enqueue(noteKeyUse, use);
}

/** The time up to which the log has seals, by the last entry of its chain: a mark says where sealing continues. */
export function sealedUntil({ kind, window_start }: Pick<SealRow, "kind" | "window_start">): Date {
  return kind === "minute" ? new Date(window_start.getTime() + MINUTE_MS) : window_start;
}

/** The midnight after a time: expired rows are looked for once a day. */
export function nextDay(time: Date): Date {
  return new Date((Math.floor(time.getTime() / DAY_MS) + 1) * DAY_MS);
}
