import { VAULT_TENANT_ID } from "../../base/ids.js";
import type { SinkName } from "../../sinks/sink.js";
import {
  deleteSealsUpTo,
  insertSeal,
  moveChainHead,
  readAttestation,
  type SealRow,
} from "../../store/audit/audit-seals.js";
import { readSealsAfter, readSinkPositions } from "../../store/audit/audit-sinks.js";
import { monthStart } from "../../store/audit/log-partitions.js";
import { openTenant, type TenantParts } from "../tenant-database.js";
import type { TenantTransaction } from "../tenant-transaction.js";
import { nextPosition } from "./attestations.js";
import { type Chain, ChainConflict, readChain, signHead, signMark } from "./chain.js";
import { MONTHS_AT_ONCE } from "./retain-log.js";
import { unsigned } from "./sign-seals.js";

/** Entries that one transaction removes. */
const PAGE = 500;

/**
 * Removes the oldest entries of the vault's own chain, up to the last one before a time, which stays: the head of the
 * chain then says, under its MAC, that entries before that one may be gone. Attestations that are still the latest of
 * their tenants are repeated at the end of the chain first. Events that a sink has not got stay, and all after them.
 * Each page is one transaction, so it may end anywhere. A chain that was tampered with is left as it is.
 *
 * One call removes at most {@link MONTHS_AT_ONCE}, as `freeOldLog` does.
 */
export async function pruneVaultChain(
  parts: TenantParts & { readonly sinks?: readonly SinkName[] },
  before: Date,
  signal?: AbortSignal,
): Promise<void> {
  const vault = await openTenant(parts, VAULT_TENANT_ID);
  // The first is from before the time from which all are kept.
  const oldest = await vault.bulk((tx) => tx.query(readSealsAfter, { number: 0, limit: 2 }));
  const limit = monthStart(oldest.at(-1)?.window_start ?? before, MONTHS_AT_ONCE);
  const until = before < limit ? before : limit;
  let hasMore = true;
  while (hasMore && !signal?.aborted) {
    hasMore = await vault
      .bulk((tx) => prunePage(tx, until, parts.sinks ?? []))
      .catch((error: unknown) => {
        // Another process has written an entry. The next run removes the rest.
        if (error instanceof ChainConflict) return false;
        throw error;
      });
  }
}

async function prunePage(tx: TenantTransaction, before: Date, sinks: readonly SinkName[]): Promise<boolean> {
  const chain = await readChain(tx);
  const [page, positions] = await Promise.all([
    tx.query(readSealsAfter, { number: 0, limit: PAGE }),
    tx.query(readSinkPositions, "all"),
  ]);
  const sent = Math.min(...sinks.map((sink) => positions.get(sink)?.number ?? 0));
  const isOld = ({ window_start, kind, number }: SealRow) =>
    window_start < before && (kind === "attestation" || number <= sent);
  const firstKept = page.findIndex((entry) => !isOld(entry));
  const old = firstKept < 0 ? page : page.slice(0, firstKept);
  const stays = old.at(-1);
  if (!chain.isWhole || !stays) return false;
  const keptFrom = new Date(stays.window_start.getTime() + 1);
  const isPruned = old.length === 1 && chain.head?.keptFrom !== undefined && chain.head.keptFrom >= keptFrom;
  if (isPruned) return false;
  await carryOver(tx, chain, await stillLatest(tx, old.slice(0, -1)), keptFrom);
  tx.enqueue(deleteSealsUpTo, stays.number - 1);
  return firstKept < 0 && page.length === PAGE;
}

/** The attestations among these entries after which their tenants have no other. */
async function stillLatest(tx: TenantTransaction, entries: readonly SealRow[]): Promise<readonly SealRow[]> {
  // An attestation of seal 0 says that a tenant is not expected any more. Without older ones it says nothing.
  const attestations = entries.filter(({ kind, row_count }) => kind === "attestation" && row_count > 0);
  const bySubject = new Map(attestations.map((entry) => [entry.subject, entry]));
  const latest = await Promise.all(
    [...bySubject.keys()].map((subject) => tx.query(readAttestation, subject ?? VAULT_TENANT_ID)),
  );
  return [...bySubject.values()].filter(({ number }, index) => latest[index]?.number === number);
}

async function carryOver(tx: TenantTransaction, chain: Chain, entries: readonly SealRow[], keptFrom: Date) {
  let { number, previous } = nextPosition(chain);
  let last = { number: number - 1, lastMac: previous };
  for (const { row_count, digest, subject } of entries) {
    const mark = { kind: "attestation", at: tx.now, number, previous } as const;
    const row = signMark(tx.keys, { ...mark, count: row_count, digest, subject: subject ?? undefined });
    tx.enqueue(insertSeal, unsigned(row));
    last = { number, lastMac: row.mac };
    previous = row.mac;
    number += 1;
  }
  const head = signHead(tx.keys, { ...last, keptFrom, attested: undefined });
  if (!(await tx.query(moveChainHead, { before: chain.stored?.mac, head }))) throw new ChainConflict();
}
