import { expect } from "vitest";
import type { LogArchive } from "../../../src/audit/archive/log-archive.js";
import { exportRange } from "../../../src/audit/export/export-range.js";
import { ArchivedLog } from "../../../src/audit/follow/archived-log.js";
import { findLogRows } from "../../../src/audit/follow/find-log-rows.js";
import { type LogQuery, prepareLogPage } from "../../../src/audit/follow/log-page.js";
import type { TenantId } from "../../../src/base/ids.js";
import { readLogSnapshot } from "../../../src/store/audit/log-snapshot.js";
import type { Ledger } from "./ledger.js";

interface PagesRequest extends Partial<LogQuery> {
  readonly tenantId: TenantId;
  /** `none`: of a server without the setting. */
  readonly archive: LogArchive | "none";
}

/** All pages of a list, as callers of a server get them. Rows are JSON. */
export async function readPages(
  ledger: Ledger,
  { tenantId, archive, ...query }: PagesRequest,
): Promise<readonly (readonly string[])[]> {
  const keys = await ledger.keyring.of(tenantId);
  const log = archive === "none" ? undefined : new ArchivedLog({ database: ledger.database, keys, archive });
  const pages: string[][] = [];
  let start: string | undefined;
  do {
    const read = prepareLogPage(keys, { page: 1, size: 5, ...query, start }, new Date(ledger.clock.time));
    const found = await ledger.database
      .of(tenantId)
      .bulk((tx) => (log ? log.pageIn(tx, read) : read((listing) => findLogRows(tx, listing))));
    const { rows, next } = typeof found === "function" ? await found() : found;
    pages.push(rows.map((row) => JSON.stringify(row)));
    start = next;
    expect(pages.length).toBeLessThan(100);
  } while (start !== undefined);
  return pages;
}

interface ExportedMonth {
  readonly since: Date;
  readonly until: Date;
  readonly isWhole: boolean;
}

/** The text of an export, as the archive and operators get it. */
export async function exportMonth(ledger: Ledger, tenantId: TenantId, { isWhole, ...range }: ExportedMonth) {
  const log = { tenantId, keys: await ledger.keyring.of(tenantId), isWhole, tokenOf: async () => undefined };
  return readLogSnapshot(ledger.stored.address, tenantId, async (snapshot) => {
    let text = "";
    for await (const piece of exportRange(snapshot, log, range, () => {})) text += piece;
    return text;
  });
}

export async function* piecesOf(pieces: readonly Buffer[]) {
  yield* pieces;
}
