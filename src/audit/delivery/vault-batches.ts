import { VAULT_TENANT_ID } from "../../base/ids.js";
import type { SinkRecord } from "../../sinks/sink.js";
import type { SealRow } from "../../store/audit/audit-seals.js";
import { readVaultEntriesAfter, type SinkPosition } from "../../store/audit/audit-sinks.js";
import { readRawLog } from "../../store/audit/raw-log.js";
import type { Database } from "../../store/database.js";
import type { Transaction } from "../../store/transactions/transaction.js";
import { vaultRowDigest } from "../chain/vault-row.js";
import type { SinkBatch } from "./sink-batches.js";
import { recordOfRow, recordOfVaultEntry } from "./sink-record.js";

const ENTRIES = 200;
/** Servers and commands can write in the same millisecond, but hardly so many. */
const ROWS = 100;

/** What a sink does not have of the vault's own log: each row, followed by its entry of the vault's own chain. */
export async function* vaultBatchesAfter(database: Database, start: SinkPosition): AsyncGenerator<SinkBatch> {
  let { number } = start;
  for (;;) {
    const after = { number, limit: ENTRIES };
    const { entries, records } = await database.of(VAULT_TENANT_ID).bulk(async (tx) => {
      const entries = await tx.query(readVaultEntriesAfter, after);
      const records = await Promise.all(entries.map((entry) => batchRecords(tx, entry)));
      return { entries, records: records.flat() };
    });
    const last = entries.at(-1);
    if (!last) return;
    number = last.number;
    yield { records, position: { number, row: undefined, sentUntil: last.window_start } };
    if (entries.length < ENTRIES) return;
  }
}

/** The row of an event has its time. Without its row, the entry shows that one is missing. */
async function batchRecords(tx: Transaction, entry: SealRow): Promise<readonly SinkRecord[]> {
  const own = recordOfVaultEntry(entry);
  if (entry.kind !== "event") return [own];
  const from = entry.window_start;
  const until = new Date(from.getTime() + 1);
  const rows = await tx.query(readRawLog, { group: "all", from, until, after: undefined, limit: ROWS });
  const row = rows.find((one) => vaultRowDigest(one).equals(entry.digest));
  return row ? [recordOfRow(VAULT_TENANT_ID, row), own] : [own];
}
