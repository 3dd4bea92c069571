import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Caller } from "../../src/access/caller.js";
import { callerTransaction } from "../../src/access/caller-transaction.js";
import { Grant } from "../../src/access/grant.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { newUuid, type Uuid } from "../../src/base/ids.js";
import type { TenantKeys } from "../../src/crypto/tenant-keys.js";
import { createFormula, deleteFormula } from "../../src/reactors/formula.js";
import { createReactor, type ReactorProperties, updateReactor } from "../../src/reactors/reactor.js";
import { readTenant } from "../../src/store/tenancy/tenants.js";
import type { OrdinaryTransaction } from "../../src/store/transactions/transaction.js";
import { DEFAULT_SETTINGS } from "../../src/tenancy/settings.js";
import { type BatcherFixture, FIRST_REVISION, openFixture } from "../store/support/batcher-fixture.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { newTenantKeys } from "../support/tenant-keys.js";

const CODE = "module.exports = async () => ({ raw: 1 });";

let database: TestDatabase;
let fixture: BatcherFixture;
let caller: Caller;
let formulaId: Uuid;
let keys: TenantKeys;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());
beforeEach(async () => {
  fixture = await openFixture(database, { connections: 2, batch: 1 });
  keys = newTenantKeys(fixture.tenantId);
  caller = {
    ...{ tenantId: fixture.tenantId, principal: { kind: "application", id: newUuid(), type: "management" } },
    ...{ keyId: undefined, session: undefined },
    ...{
      grant: new Grant({ permissions: [], rules: [] }),
      context: EMPTY_CONTEXT,
      eventTypes: [],
      settings: DEFAULT_SETTINGS,
      revision: FIRST_REVISION,
    },
  };
  formulaId = await run(async (tx) => {
    const texts = { name: "F", description: undefined, icon: undefined, code: CODE };
    const made = await createFormula(
      callerTransaction(tx, keys, caller),
      { ...texts, configuration: [], requestParameters: [] },
      undefined,
    );
    return made.id;
  });
});
afterEach(() => fixture[Symbol.asyncDispose]());

const run = <T>(work: (tx: OrdinaryTransaction) => Promise<T>) =>
  fixture.batcher.run(fixture.tenantId, FIRST_REVISION, work);

function properties(kind: "formula" | "code"): ReactorProperties {
  const code = kind === "formula" ? { kind, formulaId } : { kind, code: CODE };
  return { name: "R", code, applicationId: undefined, configuration: {}, runtime: undefined };
}

type Work = (tx: OrdinaryTransaction) => Promise<unknown>;
const making: Work = (tx) => createReactor(callerTransaction(tx, keys, caller), properties("formula"));
const deleting: Work = (tx) => deleteFormula(callerTransaction(tx, keys, caller), formulaId);

/** `done`, or the code of the fault. */
async function outcomeOf(running: Promise<unknown>): Promise<string> {
  const fault = await running.catch((error: unknown) => error);
  return fault instanceof Error && "code" in fault ? String(fault.code) : "done";
}

/** Reactors whose formula is deleted. */
async function orphans(): Promise<number> {
  const rows = await database.asTenant(
    fixture.tenantId,
    "select 1 from reactors where formula_id is not null and formula_id not in (select id from reactor_formulas)",
  );
  return rows.length;
}

/** Waits until this many database processes wait for a lock. */
async function waitingForLocks(count: number): Promise<void> {
  const waiting = () =>
    database.owner`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await expect.poll(waiting).toHaveLength(count);
}

/** Gives the other request time for about this many steps. */
async function steps(tx: OrdinaryTransaction, count: number): Promise<void> {
  for (let step = 0; step < count; step += 1) await tx.query(readTenant, tx.tenantId);
}

describe("either a formula is deleted or a reactor is created from it, never both", () => {
  const offsets = [-3, -2, -1, 0, 1, 2, 3];
  const ways = offsets.flatMap((offset) => (["deleter", "maker"] as const).map((first) => [offset, first] as const));

  it.each(ways)("by concurrent transactions, %i steps apart, the %s first", async (offset, first) => {
    const works: Readonly<Record<"maker" | "deleter", Work>> = {
      maker: async (tx) => {
        await steps(tx, Math.max(0, offset));
        return making(tx);
      },
      deleter: async (tx) => {
        await steps(tx, Math.max(0, -offset));
        return deleting(tx);
      },
    };
    const order = first === "maker" ? (["maker", "deleter"] as const) : (["deleter", "maker"] as const);
    const outcomes = await Promise.all(order.map((name) => outcomeOf(run(works[name]))));
    expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(await orphans()).toBe(0);
  });

  it("also if an existing reactor is changed to it", async () => {
    const { id } = await run((tx) => createReactor(callerTransaction(tx, keys, caller), properties("code")));
    const changing = (tx: OrdinaryTransaction) =>
      updateReactor(callerTransaction(tx, keys, caller), id, () => properties("formula"));
    const outcomes = await Promise.all([outcomeOf(run(changing)), outcomeOf(run(deleting))]);
    expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(await orphans()).toBe(0);
  });

  it.each([
    ["a reactor is stored first", "reactors", making, deleting, "conflict"],
    ["the formula is deleted first", "audit_logs", deleting, making, "validation_failed"],
  ] as const)("by concurrent transactions: %s", async (_, held, first, second, refusal) => {
    const outcomes = await database.owner.begin(async (sql) => {
      await sql.unsafe(`lock table ${held} in exclusive mode`);
      const before = outcomeOf(run(first));
      await waitingForLocks(1);
      const after = outcomeOf(run(second));
      await waitingForLocks(2);
      return { before, after };
    });
    expect([await outcomes.before, await outcomes.after]).toEqual(["done", refusal]);
    expect(await orphans()).toBe(0);
  });
});
