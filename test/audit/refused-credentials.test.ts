// Computes: 10 s
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { RefusedCredentials } from "../../src/audit/refused-credentials.js";
import { newTenantId, type TenantId } from "../../src/base/ids.js";
import { type Ledger, openLedger } from "./support/ledger.js";

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

const refused = (tenantId: TenantId, key: string, address = "203.0.113.7") => ({
  ...{ tenantId, hash: Buffer.alloc(32, key) },
  context: { ...EMPTY_CONTEXT, address },
});
const refusalsOf = (tenantId: TenantId) =>
  ledger.rows<{ entity_id: string; message: string; address: string | null }>(
    tenantId,
    "select entity_id, message, host(source_ip) as address from audit_logs where outcome = 'denied' order by id",
  );

describe("refused keys", () => {
  it("leave rows within the caps, and one more with the number of the others", async () => {
    const tenantId = await ledger.newTenant();
    let lost = 0;
    const keys = new RefusedCredentials({ ...ledger, entityType: "application_key", onLost: () => (lost += 1) });
    for (let n = 0; n < 25; n += 1) keys.note(refused(tenantId, n < 2 ? "a" : String(n)));
    keys.note(refused(tenantId, "b", "2001:db8::1"));
    await keys.settle();
    const rows = await refusalsOf(tenantId);
    expect(rows.map(({ address }) => address)).toEqual([...Array(10).fill("203.0.113.7"), "2001:db8::1", null]);
    expect(rows[0]?.entity_id).toBe(rows[1]?.entity_id);
    expect(new Set(rows.map(({ entity_id }) => entity_id)).size).toBe(11);
    expect(rows.at(-1)).toMatchObject({
      entity_id: "*",
      message: expect.stringMatching(/^Application Key refused: 15 more, from .* sources: 1, 203\.0\.113\.7 \(15\)$/),
    });
    expect(lost).toBe(0);
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [] });
  });

  it("name one key differently in each tenant", async () => {
    const tenants = [await ledger.newTenant(), await ledger.newTenant()];
    const keys = new RefusedCredentials({ ...ledger, entityType: "application_key", onLost: () => {} });
    for (const tenantId of tenants) keys.note(refused(tenantId, "the same"));
    await keys.settle();
    const named = await Promise.all(tenants.map(refusalsOf));
    expect(new Set(named.flat().map(({ entity_id }) => entity_id)).size).toBe(2);
  });

  it("leave nothing if the tenant does not exist", async () => {
    const tenantId = newTenantId();
    let unknown = 0;
    const keys = new RefusedCredentials({
      ...ledger,
      entityType: "application_key",
      onLost: () => {},
      onUnknown: () => (unknown += 1),
    });
    keys.note(refused(tenantId, "a"));
    await keys.settle();
    expect(await refusalsOf(tenantId)).toEqual([]);
    expect(unknown).toBe(1);
  });

  it("beyond the queue are counted as lost, and the others written", async () => {
    const tenantId = await ledger.newTenant();
    let lost = 0;
    const keys = new RefusedCredentials({ ...ledger, entityType: "application_key", onLost: () => (lost += 1) });
    keys.note(refused(tenantId, "first"));
    for (let n = 0; n < 5_500; n += 1) keys.note(refused(newTenantId(), "made up"));
    expect(lost).toBe(5_501 - 5_000);
    await keys.settle();
    expect(await refusalsOf(tenantId)).toHaveLength(1);
  });

  it("are noted although other requests name tenants that do not exist", async () => {
    const tenantId = await ledger.newTenant();
    let lost = 0;
    let unknown = 0;
    const keys = new RefusedCredentials({
      ...ledger,
      entityType: "application_key",
      onLost: () => (lost += 1),
      onUnknown: () => (unknown += 1),
    });
    // Together more than the queue holds.
    for (let burst = 1; burst <= 2; burst += 1) {
      for (let n = 0; n < 2_600; n += 1) keys.note(refused(newTenantId(), "made up"));
      await vi.waitFor(() => expect(unknown).toBe(burst * 2_600), { interval: 200 });
    }
    keys.note(refused(tenantId, "a real one"));
    await keys.settle();
    expect(lost).toBe(0);
    expect(await refusalsOf(tenantId)).toHaveLength(1);
  });
});
