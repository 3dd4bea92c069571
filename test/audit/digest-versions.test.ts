import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readChain, signHead } from "../../src/audit/chain.js";
import type { TenantId } from "../../src/base/ids.js";
import { macOfMinute, NO_SEAL } from "../../src/crypto/log-seal.js";
import { newRowDigest } from "../../src/crypto/row-digest.js";
import { closeLog, insertSeal, moveChainHead } from "../../src/store/audit/audit-seals.js";
import { cellsOf, readRawLog } from "../../src/store/audit/raw-log.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

/** Seals the first minute of a tenant as the release before did, whose rows had no further fields. */
async function sealAsBefore(tenantId: TenantId, windowStart: Date): Promise<void> {
  const { database, keyring } = ledger;
  const keys = await keyring.of(tenantId);
  await ledger.tamper(tenantId, "update audit_logs set outcome = null");
  const until = new Date(windowStart.getTime() + MINUTE);
  await database.bulk.run(tenantId, "unguarded", async (tx) => {
    expect(await tx.query(closeLog, { until, notBefore: until })).toBe(true);
    const rows = await tx.query(readRawLog, { group: "main", from: undefined, until, after: undefined, limit: 100 });
    const digest = newRowDigest(1, tenantId, windowStart);
    for (const row of rows) digest.add(cellsOf(row, 1));
    const minute = {
      windowStart,
      number: 1,
      rowCount: rows.length,
      digestVersion: 1,
      digest: digest.finish(),
    } as const;
    const version = keys.audit.current;
    const mac = macOfMinute(keys.audit, version, tenantId, { ...minute, previous: NO_SEAL });
    tx.enqueue(insertSeal, {
      ...{
        kind: "minute",
        version: 1,
        digest_version: 1,
        window_start: windowStart,
        number: 1,
        row_count: rows.length,
      },
      ...{ digest: minute.digest, previous: Buffer.from(NO_SEAL), key_version: version, mac, subject: null },
      ...{ signed_body: null, signature: null },
    });
    const { stored } = await readChain(tx, keys);
    const head = signHead(keys, tenantId, { number: 1, lastMac: mac, keptFrom: undefined, attested: undefined });
    expect(await tx.query(moveChainHead, { before: stored?.mac, head })).toBe(true);
  });
}

/** A tenant with one minute under the former layout, and one under the present. */
async function upgradedTenant() {
  const start = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
  ledger.clock.time = start;
  const tenantId = await ledger.newTenant();
  await sealAsBefore(tenantId, new Date(start));
  ledger.clock.time += 3 * MINUTE;
  await ledger.log(tenantId, 5);
  ledger.clock.time += 2 * MINUTE;
  expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
  return { tenantId, before: new Date(start), after: new Date(start + 3 * MINUTE) };
}

describe("a log with minutes of both layouts", () => {
  it("is intact", async () => {
    const { tenantId } = await upgradedTenant();
    const seals = await ledger.rows(tenantId, "select number, digest_version from audit_seals order by number");
    expect(seals).toEqual([
      { number: 1, digest_version: 1 },
      { number: 2, digest_version: 2 },
    ]);
    expect(await ledger.verifyAttested(tenantId)).toMatchObject({ seals: 2, rows: 9, unsealedRows: 0, findings: [] });
  });

  it.each([
    [
      "a field that the former layout covers",
      "update audit_logs set message = 'x' where created_at < :after",
      "rows_changed",
    ],
    [
      "a reason that the former layout does not cover",
      "update audit_logs set reason = 'x' where created_at < :after",
      "fields_unsealed",
    ],
    [
      "an outcome of the present layout",
      "update audit_logs set outcome = 'denied' where created_at >= :after",
      "rows_changed",
    ],
    ["a key of the present layout", "update audit_logs set key_id = id where created_at >= :after", "rows_changed"],
    [
      "an address of the present layout",
      "update audit_logs set source_ip = '::1' where created_at >= :after",
      "rows_changed",
    ],
    ["a layout to the former", "update audit_seals set digest_version = 1 where number = 2", "seal_changed"],
    ["a layout to the present", "update audit_seals set digest_version = 2 where number = 1", "seal_changed"],
    ["a layout to an unknown one", "update audit_seals set digest_version = 9 where number = 2", "seal_changed"],
  ])("shows a change of %s", async (_name, statement, kind) => {
    const { tenantId, after } = await upgradedTenant();
    await ledger.tamper(tenantId, statement.replace(":after", `'${after.toISOString()}'`));
    const { findings } = await ledger.verify(tenantId);
    expect(findings.map((finding) => finding.kind)).toContain(kind);
  });

  it("is not sealed by the release before: its seals do not name their layout", async () => {
    const { tenantId } = await upgradedTenant();
    const columns = "kind, version, window_start, number, row_count, digest, previous, key_version, mac, sealed_at";
    const copy = `insert into audit_seals (tenant_id, ${columns}) select tenant_id, ${columns.replace("number", "99")} from audit_seals where number = 2`;
    await expect(ledger.tamper(tenantId, copy)).rejects.toThrow(/digest_version/);
  });
});
