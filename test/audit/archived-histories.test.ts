// Computes: 15 s
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { archivedFile, type LogArchive } from "../../src/audit/archive/log-archive.js";
import { setBackLog } from "../../src/audit/chain/set-back-log.js";
import { verifyExport } from "../../src/audit/verify/verify-export.js";
import { openTarget } from "../../src/backups/open-target.js";
import { type TenantId, VAULT_TENANT_ID } from "../../src/base/ids.js";
import { logSigningKey } from "../../src/crypto/log-signing.js";
import { readBuckets } from "../../src/settings/buckets.js";
import { monthStart } from "../../src/store/audit/log-partitions.js";
import { exportMonth, piecesOf, readPages } from "./support/archived-log.js";
import { type Ledger, MINUTE } from "./support/ledger.js";
import { DAY, DAYS, WrongClocks } from "./support/wrong-clocks.js";

let clocks: WrongClocks;
let ledger: Ledger;
let directory: string;
let archive: LogArchive;
beforeEach(async () => {
  clocks = await WrongClocks.open();
  ledger = clocks.ledger;
  directory = join(ledger.stored.dataDir, "..", "log-archive");
  await mkdir(directory);
  archive = openTarget(directory, readBuckets({}));
  ledger.settings.archiving = archive;
  await clocks.both(0);
});
afterEach(() => ledger?.[Symbol.asyncDispose]());

const wait = (milliseconds: number) => clocks.wait(milliseconds);
const pagesOf = (tenantId: TenantId) => readPages(ledger, { tenantId, archive });
const turnMonths = () => ledger.turnMonths({ retentionDays: DAYS });
const monthOf = (time: number) => ({ since: monthStart(new Date(time)), until: monthStart(new Date(time), 1) });
const fileOf = (tenantId: TenantId, { since }: { readonly since: Date }) =>
  join(directory, archivedFile(tenantId, since));

async function write(tenantId: TenantId, rows: number) {
  await ledger.log(tenantId, rows);
  await wait(3 * MINUTE);
}

/** Seals what is written, by a server without memory of other histories. */
async function seal() {
  const run = { retentionDays: DAYS, server: ledger.another() };
  expect(await ledger.runJob(run)).toEqual({ failed: [], broken: [] });
}

async function verdictOf(tenantId: TenantId, text: string) {
  const { fingerprint } = logSigningKey((await ledger.keyring.of(tenantId)).audit, tenantId);
  return verifyExport(piecesOf([Buffer.from(text)]), { fingerprint });
}

const BACKED_UP = ["audit_logs", "audit_seals", "audit_heads", "due"];

/** A tenant's log and the vault's own, as a backup has them. */
async function backUp(tenantId: TenantId) {
  const tables = [tenantId, VAULT_TENANT_ID].flatMap((id) => BACKED_UP.map((table) => ({ id, table })));
  const copies = await Promise.all(tables.map(async (of) => ({ ...of, copy: await ledger.copy(of.id, of.table) })));
  const [closed] = await ledger.rows<{ until: Date }>(tenantId, "select audit_closed_until as until from tenants");
  if (!closed) throw new Error("the log was never closed");
  return { copies, closedUntil: closed.until };
}

async function restore(tenantId: TenantId, { copies, closedUntil }: Awaited<ReturnType<typeof backUp>>) {
  for (const { id, table, copy } of copies) await ledger.putBack(id, table, copy);
  await ledger.tamper(tenantId, `update tenants set audit_closed_until = '${closedUntil.toISOString()}'`);
}

describe("a file of the archive", () => {
  it("is refused if it is of the history that a restored backup replaced, with as many rows at the same times", async () => {
    const tenantId = await ledger.newTenant();
    await wait(3 * MINUTE);
    await seal();
    const backup = await backUp(tenantId);
    const [begin, range] = [clocks.truth, monthOf(clocks.truth)];
    await write(tenantId, 3);
    await seal();
    await wait(32 * DAY);
    await write(tenantId, 1);
    await seal();
    const replaced = await exportMonth(ledger, tenantId, { ...range, isWhole: true });
    expect(await verdictOf(tenantId, replaced)).toMatchObject({ state: "good", attestedUntil: range.until });
    await restore(tenantId, backup);
    await clocks.set({}, begin - clocks.truth);
    await write(tenantId, 3);
    await seal();
    await wait(100 * DAY);
    await write(tenantId, 6);
    await seal();
    const before = await pagesOf(tenantId);
    await writeFile(fileOf(tenantId, range), replaced);
    expect(await turnMonths()).toMatchObject([{ month: range.since, tenants: [tenantId] }]);
    expect(ledger.unarchived).toEqual([expect.stringContaining("it is of another history of this log")]);
    await rm(fileOf(tenantId, range));
    expect(await turnMonths()).toEqual([]);
    expect(await pagesOf(tenantId)).toEqual(before);
    await writeFile(fileOf(tenantId, range), replaced);
    await expect(pagesOf(tenantId)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("is refused if it was made before the clock was set back into its month, and rows followed", async () => {
    const tenantId = await ledger.newTenant();
    const range = monthOf(clocks.truth);
    await clocks.both(40 * DAY);
    await write(tenantId, 2);
    await seal();
    const early = await exportMonth(ledger, tenantId, { ...range, isWhole: true });
    expect(await verdictOf(tenantId, early)).toMatchObject({ state: "good", attestedUntil: range.until });
    await clocks.both(0);
    expect(await setBackLog(ledger, tenantId)).toMatchObject({ kind: "set back" });
    await write(tenantId, 4);
    await seal();
    await wait(100 * DAY);
    await write(tenantId, 1);
    await seal();
    const before = await pagesOf(tenantId);
    expect(await turnMonths()).toEqual([]);
    expect(ledger.unarchived).toEqual([]);
    expect(await pagesOf(tenantId)).toEqual(before);
    await writeFile(fileOf(tenantId, range), early);
    await expect(pagesOf(tenantId)).rejects.toMatchObject({ code: "unavailable" });
  });
});
