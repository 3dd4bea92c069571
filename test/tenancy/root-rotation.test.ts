import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import type { TenantId } from "../../src/base/ids.js";
import { createKeyFile, readKeyFile } from "../../src/crypto/key-file.js";
import { createCheckValue, type RootKey } from "../../src/crypto/root-key.js";
import { RootKeys } from "../../src/crypto/root-keys.js";
import type { Sensitive } from "../../src/crypto/sensitive.js";
import { splitRootKey } from "../../src/crypto/shares.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import type { Sql } from "../../src/store/postgres/connect.js";
import { insertRootKey, listRootKeys, setRootKeyThreshold } from "../../src/store/tenancy/root-keys.js";
import { Keyring } from "../../src/tenancy/keyring.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { type RootRotationParts, rotateRootKey } from "../../src/tenancy/root-rotation.js";
import { registeredKey } from "../../src/vault/open-root-key.js";
import { ShareCollector, type Unseal, type UnsealedKey } from "../../src/vault/unsealing.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

class CutOff extends Error {}

/** Aborts the work before its `left`th step that reaches the database, as a kill would. */
class Fuse {
  isBlown = false;
  #left: number;

  constructor(left: number) {
    this.#left = left;
  }

  step(): void {
    if (this.isBlown || this.#left === 0) {
      this.isBlown = true;
      throw new CutOff();
    }
    this.#left -= 1;
  }

  sql(sql: Sql): Sql {
    return new Proxy(sql, {
      apply: (target, self, args) => {
        this.step();
        return Reflect.apply(target, self, args);
      },
      get: (target, name) => {
        const found = Reflect.get(target, name);
        if (name !== "begin") return found;
        return (...args: unknown[]) => {
          this.step();
          return Reflect.apply(found, target, args);
        };
      },
    });
  }

  database(database: Database): Database {
    const of: Database["of"] = (tenantId, authority) => {
      const transactions = database.of(tenantId, authority);
      return {
        shared: (work) => {
          this.step();
          return transactions.shared(work);
        },
        ordinary: (work) => transactions.ordinary(work),
        bulk: (work) => transactions.bulk(work),
      };
    };
    return new Proxy(database, { get: (target, name) => (name === "of" ? of : Reflect.get(target, name)) });
  }
}

describe("replacing the root key", () => {
  let stored: TestDatabase;
  let database: Database;
  let keyFile: string;
  let tenants: TenantId[];
  /** The shares that their holders have, by root key. */
  const shares = new Map<string, readonly Sensitive<string>[]>();
  let asked: string[];

  beforeAll(async () => {
    stored = await startDatabase();
    keyFile = join(stored.dataDir, "..", "root.key");
    const root = await createKeyFile(keyFile);
    await insertRootKey(stored.owner, { id: root.id, check_value: await createCheckValue(root) });
    database = openDatabase({
      address: stored.address,
      sharedConnections: 2,
      bulkConnections: 1,
      clock: systemClock,
    });
    const parts = { database, rootKey: root, keyring: new Keyring(database, { find: async () => root }) };
    const made = [1, 2].map((n) => provisionTenant(parts, { name: `T${n}`, ownerEmail: "a@example.com" }));
    tenants = (await Promise.all(made)).map(({ tenantId }) => tenantId);
  });
  afterAll(async () => {
    await database?.[Symbol.asyncDispose]();
    await stored?.[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    asked = [];
  });

  /** All shares of the required keys are submitted, the last one first. */
  const unseal: Unseal = async (needed) => {
    const { promise, resolve } = Promise.withResolvers<readonly UnsealedKey[]>();
    const collector = new ShareCollector(needed, resolve);
    for (const { id } of needed) {
      asked.push(id);
      for (const share of shares.get(id)?.toReversed() ?? [])
        expect(await collector.take(share)).not.toHaveProperty("problem");
    }
    return promise;
  };

  /** As a start does it, in a process that knows no key yet. */
  async function start(): Promise<{ rootKeys: RootKeys; rootKey: RootKey }> {
    const rootKeys = new RootKeys({ kind: "file", path: keyFile }, keyFile);
    return { rootKeys, rootKey: await registeredKey(await listRootKeys(stored.owner), { rootKeys, unseal }) };
  }

  async function expectAllOpen(rootKeys: RootKeys): Promise<void> {
    const keyring = new Keyring(database, rootKeys);
    for (const tenantId of tenants) expect(await keyring.of(tenantId)).toBeDefined();
  }

  async function rotate(fuse: Fuse): Promise<void> {
    const { rootKeys, rootKey } = await start();
    const parts: RootRotationParts = {
      database: fuse.database(database),
      owner: fuse.sql(stored.owner),
      rootKeys,
      say: () => {},
    };
    await rotateRootKey(parts, rootKey);
  }

  const wrapping = async (tenantId: TenantId) => {
    const rows = await stored.asTenant<{ root_key_id: string }>(
      tenantId,
      "select distinct root_key_id from tenant_keys",
    );
    return rows.map(({ root_key_id }) => root_key_id);
  };

  async function splitAndTakeAway(): Promise<void> {
    const [key] = await readKeyFile(keyFile);
    shares.set(key.id, await splitRootKey(key, { shares: 2, threshold: 2 }));
    await setRootKeyThreshold(stored.owner, key.id, 2);
    rmSync(keyFile);
  }

  it.each([
    ["in its file", async () => {}],
    ["in shares, without its file", splitAndTakeAway],
  ])("can be interrupted anywhere if it is kept %s: it starts again, and completes", async (kind, prepare) => {
    let cuts = 0;
    for (let steps = 0; ; steps += 1) {
      await prepare();
      asked = [];
      const [before] = await listRootKeys(stored.owner);
      const fuse = new Fuse(steps);
      const outcome = await rotate(fuse).catch((error: unknown) => error);
      if (fuse.isBlown) {
        expect(outcome).toBeInstanceOf(CutOff);
        cuts += 1;
        const { rootKeys } = await start();
        await expectAllOpen(rootKeys);
        // No file ever contains a key that is kept in shares.
        if (kind !== "in its file" && existsSync(keyFile)) {
          expect(readFileSync(keyFile, "utf8")).not.toContain(`.${before?.id}.`);
        }
        await rotate(new Fuse(Number.POSITIVE_INFINITY));
      } else expect(outcome).toBeUndefined();

      const [row, ...others] = await listRootKeys(stored.owner);
      expect(others).toEqual([]);
      expect(row).toMatchObject({ retired_at: null, threshold: null });
      expect(row?.id).not.toBe(before?.id);
      for (const tenantId of tenants) expect(await wrapping(tenantId)).toEqual([row?.id]);
      expect((await readKeyFile(keyFile)).map(({ id }) => id)).toEqual([row?.id]);
      expect(asked.every((id) => id === before?.id)).toBe(true);
      asked = [];
      await expectAllOpen((await start()).rootKeys);
      expect(asked).toEqual([]);
      if (!fuse.isBlown) break;
    }
    expect(cuts).toBeGreaterThan(10);
  });

  it("asks for the shares of both keys, if the new one was split before the old one was forgotten", async () => {
    await splitAndTakeAway();
    // Superseded, and no key of a tenant re-wrapped yet.
    await rotate(new Fuse(3)).catch(() => {});
    await splitAndTakeAway();
    const rows = await listRootKeys(stored.owner);
    expect(rows.map(({ retired_at, threshold }) => [retired_at !== null, threshold])).toEqual([
      [true, 2],
      [false, 2],
    ]);
    asked = [];
    const { rootKeys } = await start();
    expect(asked).toEqual(rows.map(({ id }) => id));
    await expectAllOpen(rootKeys);
    await rotate(new Fuse(Number.POSITIVE_INFINITY));
    expect(await listRootKeys(stored.owner)).toHaveLength(1);
    expect(existsSync(keyFile)).toBe(false);
    // The next one starts a new file.
    await rotate(new Fuse(Number.POSITIVE_INFINITY));
    expect((await readKeyFile(keyFile)).map(({ id }) => id)).toEqual(
      (await listRootKeys(stored.owner)).map(({ id }) => id),
    );
  });

  it("leaves a key that does not open in place, with the root key that it names, and re-wraps all others", async () => {
    const [broken, whole] = tenants;
    if (!broken || !whole) throw new Error("two tenants were made");
    const [before] = await listRootKeys(stored.owner);
    const of = "purpose = 'search'";
    const spoil = `update tenant_keys set wrapped = set_byte(wrapped, 20, 255 - get_byte(wrapped, 20)) where ${of}`;
    await stored.asTenant(broken, spoil);
    const { rootKeys, rootKey } = await start();
    const said: string[] = [];
    const parts = { database, owner: stored.owner, rootKeys, say: (line: string) => said.push(line) };
    const first = await rotateRootKey(parts, rootKey);
    expect(first.broken).toEqual([{ tenantId: broken, purpose: "search", version: 1, rootKeyId: before?.id }]);
    expect(await wrapping(whole)).toEqual([first.rootKey.id]);
    expect((await wrapping(broken)).toSorted()).toEqual([first.rootKey.id, before?.id].toSorted());
    expect(said).toContain(`The old root key ${before?.id} stays: keys of tenants that it wraps do not open.`);
    expect((await readKeyFile(keyFile)).map(({ id }) => id)).toEqual([before?.id, first.rootKey.id]);

    await stored.asTenant(broken, spoil);
    const again = await start();
    expect(await rotateRootKey({ ...parts, rootKeys: again.rootKeys }, again.rootKey)).toMatchObject({
      ...{ rewrapped: 1, broken: [] },
      rootKey: { id: first.rootKey.id },
    });
    expect(await listRootKeys(stored.owner)).toHaveLength(1);
    await expectAllOpen((await start()).rootKeys);
  });

  it("is refused to a process that read the state before another one completed it", async () => {
    const late = await start();
    await rotate(new Fuse(Number.POSITIVE_INFINITY));
    const parts = { database, owner: stored.owner, rootKeys: late.rootKeys, say: () => {} };
    await expect(rotateRootKey(parts, late.rootKey)).rejects.toMatchObject({ name: "DatabaseSetupError" });
    expect(await readKeyFile(keyFile)).toHaveLength(1);
  });
});
