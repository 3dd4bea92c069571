import type { CallerContext, CallerTransaction } from "../access/caller-transaction.js";
import { Denied, denied } from "../access/refusal.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { takeTurn } from "../base/caller-turns.js";
import { Fault, invalid } from "../base/fault.js";
import { isJsonObject, type Json } from "../base/json.js";
import { Budget } from "../expressions/budget.js";
import { SharedBudget } from "../expressions/shared-budget.js";
import { createToken } from "./create.js";
import { readDraft } from "./draft.js";
import { loggedTokenType } from "./entity.js";
import { maskAhead, type PreparedToken, prepareToken } from "./prepare.js";
import { sealInTurns } from "./seal-ahead.js";
import { splitCvc } from "./sealing.js";

/** A row of an import with its position, counted from 1. */
interface ImportRow {
  readonly position: number;
}

export interface ReadyRow extends ImportRow {
  readonly prepared: PreparedToken;
}

export interface FailedRow extends ImportRow {
  readonly fault: Fault;
}

export interface StoredRow extends ImportRow {
  readonly id: string;
  readonly fingerprint: string | undefined;
  readonly isDeduplicated: boolean;
}

export interface BatchSource {
  /** Of the first row. */
  readonly position: number;
  /** Reads each row. It may throw a fault. */
  readonly rows: readonly (() => Json)[];
  /** Of the whole request. */
  readonly bytes: number;
}

/** A row with a fault does not affect others. Expressions of all rows share the budget of one request. */
export async function prepareRows(
  context: CallerContext,
  { position, rows, bytes }: BatchSource,
): Promise<readonly (ReadyRow | FailedRow)[]> {
  const budget = new Budget();
  const masks = new SharedBudget();
  const ready: (ReadyRow | FailedRow)[] = [];
  for (const [index, read] of rows.entries()) {
    const turn = takeTurn();
    if (turn) await turn;
    const at = position + index;
    try {
      const valid = prepareToken(context, draftOf(read()), budget);
      requireNoCode(valid);
      const shown = await maskAhead(valid, masks);
      ready.push({ position: at, prepared: await sealInTurns(context.keys, shown, bytes / rows.length) });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      ready.push({ position: at, fault: error });
    }
  }
  return ready;
}

function draftOf(row: Json) {
  if (!isJsonObject(row)) throw invalid("type", "must be given: a row is an object with type and data");
  return readDraft(row);
}

/** PCI DSS 3.3.1: a code that comes from another vault was kept after authorization. */
function requireNoCode({ type, data }: PreparedToken): void {
  if (splitCvc(type.name, data.reveal()).cvc === undefined) return;
  throw invalid("data.cvc", "must be left out: verification codes are not imported");
}

/** Stores the rows of a batch that are valid, and writes one log row for the batch beside those of its tokens. */
export async function importRows(
  tx: CallerTransaction,
  rows: readonly (ReadyRow | FailedRow)[],
): Promise<readonly (StoredRow | FailedRow)[]> {
  const imported = await Promise.all(rows.map((row) => ("fault" in row ? row : importRow(tx, row))));
  const stored = imported.filter((row) => "id" in row).length;
  tx.log("token", ANY_ENTITY_ID, "import", `${stored} of ${rows.length} rows`);
  return imported;
}

/**
 * Checks the right to a stored row whose batch is sent again: as in other replays, its id is for callers that may still
 * create it.
 * @returns the row with its fault; undefined: its result counts.
 */
export function replayRefusal(tx: CallerTransaction, row: ReadyRow | FailedRow, id: string): FailedRow | undefined {
  // It was valid once, such as a row that has expired since, and its containers are not known.
  if ("fault" in row) return row;
  const { containers, type } = row.prepared;
  if (tx.caller.grant.transformForAll("token:create", { id, containers })) return undefined;
  const { entry, fault } = denied(tx.caller, "token:create", loggedTokenType(type), id);
  tx.record(entry);
  return { position: row.position, fault };
}

/** Faults of one row, found before anything of it was written. All others end the request. */
const ROW_FAULTS: readonly string[] = ["validation_failed", "already_exists"];

async function importRow(tx: CallerTransaction, { position, prepared }: ReadyRow): Promise<StoredRow | FailedRow> {
  try {
    const { id, fingerprint, deduplicated: isDeduplicated = false } = await createToken(tx, prepared, "reference");
    return { position, id, fingerprint, isDeduplicated };
  } catch (error) {
    if (error instanceof Denied) {
      tx.record(error.entry);
      return { position, fault: error.fault };
    }
    if (error instanceof Fault && ROW_FAULTS.includes(error.code)) return { position, fault: error };
    throw error;
  }
}
