import { MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { SinkRecord } from "../../sinks/sink.js";
import type { SealRow } from "../../store/audit/audit-seals.js";
import { readSealsAfter, readSetBacksAfter, type SinkPosition } from "../../store/audit/audit-sinks.js";
import { type RawLogRow, readRawLog, type SealedGroup } from "../../store/audit/raw-log.js";
import type { Database, TenantTransactions } from "../../store/database.js";
import { sealedUntil } from "../chain/next-seals.js";
import { sealedGroup } from "../chain/sealed-rows.js";
import { recordOfRow, recordOfSeal } from "./sink-record.js";

/** Records that are sent at a time: about 250 KB. */
const BATCH = 500;
const SEALS = 200;

export interface SinkBatch {
  readonly records: readonly SinkRecord[];
  readonly position: SinkPosition;
}

/** The position of a sink that has nothing. */
export const SINK_START: SinkPosition = { number: 0, row: undefined, sentUntil: new Date(0) };

/**
 * What a sink does not have of a tenant's sealed minutes: rows in the order of their chain, each minute followed by its
 * seal. Sealed minutes get no more rows, so nothing can be passed over.
 */
export async function* batchesAfter(
  database: Database,
  tenantId: TenantId,
  start: SinkPosition,
): AsyncGenerator<SinkBatch> {
  let records: SinkRecord[] = [];
  let position = start;
  for await (const part of partsAfter(database, tenantId, start)) {
    if (records.length > 0 && records.length + part.records.length > BATCH) {
      yield { records, position };
      records = [];
    }
    records = [...records, ...part.records];
    position = part.position;
  }
  if (records.length > 0) yield { records, position };
}

/** Parts of a minute, or its seal. */
async function* partsAfter(database: Database, tenantId: TenantId, start: SinkPosition): AsyncGenerator<SinkBatch> {
  let position = start;
  for (;;) {
    const after = { number: position.number, limit: SEALS };
    const { seals, setBacks } = await database.of(tenantId).bulk(async (tx) => {
      const [seals, setBacks] = await Promise.all([
        tx.query(readSealsAfter, after),
        tx.query(readSetBacksAfter, after.number),
      ]);
      return { seals, setBacks };
    });
    for (const seal of seals) {
      const group = sealedGroup(seal, setBacks);
      for await (const rows of seal.kind === "minute"
        ? minuteRows(database.of(tenantId), seal, group, position.row)
        : []) {
        const last = rows.at(-1);
        position = { ...position, row: last && { micros: last.micros, id: last.id } };
        yield { records: rows.map((row) => recordOfRow(tenantId, row)), position };
      }
      position = { number: seal.number, row: undefined, sentUntil: sealedUntil(seal) };
      yield { records: [recordOfSeal(tenantId, seal)], position };
    }
    if (seals.length < SEALS) return;
  }
}

async function* minuteRows(
  transactions: TenantTransactions,
  { window_start: from }: SealRow,
  group: SealedGroup,
  start: SinkPosition["row"],
): AsyncGenerator<readonly RawLogRow[]> {
  const until = new Date(from.getTime() + MINUTE_MS);
  let after = start;
  for (;;) {
    const range = { group, from, until, after, limit: BATCH } as const;
    const rows = await transactions.bulk((tx) => tx.query(readRawLog, range));
    if (rows.length > 0) yield rows;
    if (rows.length < BATCH) return;
    after = rows.at(-1);
  }
}
