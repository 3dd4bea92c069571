import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import type { TenantId } from "../../src/base/ids.js";
import { LocalRootKey } from "../../src/crypto/local-root-key.js";
import { createCheckValue } from "../../src/crypto/root-key.js";
import { open, seal } from "../../src/crypto/sealed.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import { StaleAuthorization } from "../../src/store/postgres/database-error.js";
import { insertRootKey } from "../../src/store/tenancy/root-keys.js";
import { incrementAuthRevision } from "../../src/store/tenancy/tenants.js";
import { Keyring } from "../../src/tenancy/keyring.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { beginRotation } from "../../src/tenancy/tenant-rotation.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

let stored: TestDatabase;
let database: Database;
const root = new LocalRootKey("root", new Sensitive(randomBytes(32)));
const rootKeys = { find: async () => root };

beforeAll(async () => {
  stored = await startDatabase();
  database = openDatabase({ address: stored.address, sharedConnections: 2, bulkConnections: 2, clock: systemClock });
  await insertRootKey(stored.owner, { id: root.id, check_value: await createCheckValue(root) });
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await stored?.[Symbol.asyncDispose]();
});

/** A tenant whose database may lose its latest changes, as in a failover to a standby that lacked them. */
class Vault {
  readonly keyring = new Keyring(database, rootKeys);
  readonly tenantId: TenantId;
  /** Values that were acknowledged and that the database still has. */
  sealed: Buffer[] = [];
  #revision = 0;
  #kept: { readonly sealed: readonly Buffer[]; readonly statements: readonly string[] } | undefined;

  constructor(tenantId: TenantId) {
    this.tenantId = tenantId;
  }

  async rotate(): Promise<void> {
    await beginRotation({ database, rootKeys }, this.tenantId);
  }

  async change(): Promise<void> {
    await database.of(this.tenantId).ordinary(async (tx) => tx.enqueue(incrementAuthRevision, this.tenantId));
  }

  /** Stores a value as a request does: under the rights of an earlier one, and again once they turn out to be old. */
  async store(): Promise<void> {
    for (;;) {
      const keys = await this.keyring.of(this.tenantId, this.#revision);
      const sealed = seal(keys.data, this.#place(), Buffer.from("value"));
      try {
        await database.of(this.tenantId, { revision: this.#revision }).shared(async () => {});
        this.sealed.push(sealed);
        return;
      } catch (error) {
        if (!(error instanceof StaleAuthorization)) throw error;
        this.#revision = await this.#readRevision();
        this.keyring.expect(this.tenantId, this.#revision);
      }
    }
  }

  /** The standby receives nothing after this. */
  async cut(): Promise<void> {
    const rows = await stored.asTenant<{ text: string }>(
      this.tenantId,
      `select format('(%L, %L, %L, %L, %L, %L, %L)', tenant_id, purpose, version, wrapped, root_key_id, state, created_at)
         as text from tenant_keys`,
    );
    const revision = await this.#readRevision();
    this.#kept = {
      sealed: [...this.sealed],
      statements: [
        "delete from tenant_keys",
        `insert into tenant_keys values ${rows.map(({ text }) => text).join(", ")}`,
        `update tenants set auth_revision = ${revision}`,
      ],
    };
  }

  /** The standby takes over. */
  async promote(): Promise<void> {
    if (!this.#kept) return;
    for (const statement of this.#kept.statements) await stored.asTenant(this.tenantId, statement);
    this.sealed = [...this.#kept.sealed];
  }

  /** The values that a server started now cannot open. */
  async lost(): Promise<number> {
    const { data } = await new Keyring(database, rootKeys).of(this.tenantId);
    const opens = (value: Buffer) => {
      try {
        return open(data, this.#place(), value).toString() === "value";
      } catch {
        return false;
      }
    };
    return this.sealed.filter((value) => !opens(value)).length;
  }

  #place() {
    return { tenantId: this.tenantId, entity: "e", field: "f" };
  }

  async #readRevision(): Promise<number> {
    const [row] = await stored.asTenant<{ auth_revision: number }>(this.tenantId, "select auth_revision from tenants");
    return row?.auth_revision ?? 0;
  }
}

it("a server that outlives a failover seals nothing under keys that the failover lost", async () => {
  const step = fc.constantFrom<("rotate" | "change" | "store" | "cut" | "promote")[]>(
    ...(["rotate", "change", "store", "cut", "promote"] as const),
  );
  const steps = fc.array(step, { minLength: 3, maxLength: 9 });
  const lossy = ["store", "cut", "rotate", "store", "promote"] as const;
  await fc.assert(
    fc.asyncProperty(steps, async (chosen) => {
      const parts = { database, rootKey: root, keyring: new Keyring(database, rootKeys) };
      const { tenantId } = await provisionTenant(parts, { name: "T", ownerEmail: "a@example.com" });
      const vault = new Vault(tenantId);
      for (const name of [...chosen, "store"] as const) await vault[name]();
      expect(await vault.lost()).toBe(0);
    }),
    {
      numRuns: 60,
      examples: [[[...lossy, "change"]], [[...lossy, "rotate"]], [[...lossy, "store"]]],
    },
  );
});

it("a server that outlives a failover seals nothing under a key that it made for a purpose and the failover lost", async () => {
  const parts = { database, rootKey: root, keyring: new Keyring(database, rootKeys) };
  const { tenantId } = await provisionTenant(parts, { name: "T", ownerEmail: "a@example.com" });
  const vault = new Vault(tenantId);
  // As if the purpose came with a later release than the tenant.
  await stored.asTenant(tenantId, "delete from tenant_keys where purpose = 'data'");
  for (const name of ["cut", "store", "promote", "store"] as const) await vault[name]();
  expect(vault.sealed).toHaveLength(1);
  expect(await vault.lost()).toBe(0);
});
