import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TenantId } from "../../src/base/ids.js";
import { LocalRootKey } from "../../src/crypto/local-root-key.js";
import { createCheckValue, type RootKey } from "../../src/crypto/root-key.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { keyRotationsJob } from "../../src/jobs/key-rotations.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import { insertRootKey, replaceRootKeys } from "../../src/store/tenancy/root-keys.js";
import { Keyring } from "../../src/tenancy/keyring.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { beginRotation, finishRotation } from "../../src/tenancy/tenant-rotation.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

const newRoot = () => new LocalRootKey(randomBytes(8).toString("hex"), new Sensitive(randomBytes(32)));

let stored: TestDatabase;
let database: Database;
const clock = { time: Date.now(), now: () => clock.time };
const known = new Map<string, RootKey>();
const rootKeys = { find: async (id: string) => known.get(id) };
let root: RootKey;

beforeAll(async () => {
  stored = await startDatabase();
  database = openDatabase({ address: stored.address, sharedConnections: 2, bulkConnections: 2, clock });
  root = newRoot();
  known.set(root.id, root);
  await insertRootKey(stored.owner, { id: root.id, check_value: await createCheckValue(root) });
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await stored?.[Symbol.asyncDispose]();
});

async function newTenant(): Promise<TenantId> {
  return (
    await provisionTenant(
      { database, rootKey: root, keyring: new Keyring(database, rootKeys) },
      { name: "T", ownerEmail: "a@example.com" },
    )
  ).tenantId;
}

async function replaceRoot(): Promise<RootKey> {
  const added = newRoot();
  await replaceRootKeys(stored.owner, { id: added.id, check_value: await createCheckValue(added) });
  known.set(added.id, added);
  root = added;
  return added;
}

const keysOf = async (tenantId: TenantId) => {
  const rows = await stored.asTenant<{ key: string; root_key_id: string }>(
    tenantId,
    `select concat_ws(' ', purpose, version, state) as key, root_key_id from tenant_keys order by 1`,
  );
  return Object.fromEntries(rows.map(({ key, root_key_id }) => [key, root_key_id]));
};

describe("new keys of a tenant", () => {
  it("are wrapped by the current root key, whichever it was when the process started", async () => {
    const tenantId = await newTenant();
    const before = root;
    const after = await replaceRoot();
    expect(await beginRotation({ database, rootKeys }, tenantId)).toBe("begun");
    expect(await keysOf(tenantId)).toMatchObject({
      "data 1 retired": before.id,
      "data 2 current": after.id,
      "cvc 2 current": after.id,
    });
  });

  it("are created again if the root key is replaced meanwhile", async () => {
    const tenantId = await newTenant();
    let replaced: RootKey | undefined;
    const late = {
      async find(id: string) {
        const found = known.get(id);
        replaced ??= await replaceRoot();
        return found;
      },
    };
    expect(await beginRotation({ database, rootKeys: late }, tenantId)).toBe("begun");
    expect(await keysOf(tenantId)).toMatchObject({ "data 2 current": replaced?.id, "cvc 2 current": replaced?.id });
  });

  it("are not created if that root key is unavailable, and nothing is changed", async () => {
    const tenantId = await newTenant();
    const before = await keysOf(tenantId);
    const nowhere = { find: async () => undefined };
    const begun = beginRotation({ database, rootKeys: nowhere }, tenantId);
    await expect(begun).rejects.toMatchObject({
      name: "DatabaseSetupError",
      message: `The root key was replaced by ${root.id}, which is not configured here. Put its file in place, or set what names it, and run this again.`,
    });
    expect(await keysOf(tenantId)).toEqual(before);
  });

  it("are created once if two processes begin concurrently", async () => {
    const tenantId = await newTenant();
    const starts = await Promise.all([1, 2].map(() => beginRotation({ database, rootKeys }, tenantId)));
    expect(starts.toSorted()).toEqual(["begun", "under way"]);
    expect(Object.keys(await keysOf(tenantId)).filter((key) => key.startsWith("data"))).toEqual([
      "data 1 retired",
      "data 2 current",
    ]);
  });

  it("for a purpose that an older tenant lacks are wrapped by the current root key", async () => {
    const tenantId = await newTenant();
    await stored.asTenant(tenantId, "delete from tenant_keys where purpose = 'audit'");
    const after = await replaceRoot();
    await new Keyring(database, rootKeys).of(tenantId);
    expect(await keysOf(tenantId)).toMatchObject({ "audit 1 current": after.id });
  });
});

describe("a key rotation in which something does not open", () => {
  const SPOIL = "update members set profile = set_byte(profile, 30, 255 - get_byte(profile, 30))";
  let tenantId: TenantId;
  beforeAll(async () => {
    tenantId = await newTenant();
    await beginRotation({ database, rootKeys }, tenantId);
    await stored.asTenant(tenantId, SPOIL);
  });

  const finish = (keyring: Keyring) =>
    finishRotation({ database, keyring, clock }, tenantId, {
      ...{ retireAfter: 2_000, signal: new AbortController().signal },
      onProgress: () => {},
    });

  it("keeps the old keys past their time, and names the rows", async () => {
    const keyring = new Keyring(database, rootKeys);
    expect(await finish(keyring)).toEqual({ state: "later" });
    clock.time += 3_000;
    const outcome = await finish(keyring);
    if (outcome.state !== "broken") throw new Error(`it is ${outcome.state}`);
    const [member] = await stored.asTenant<{ id: string }>(tenantId, "select id from members");
    expect(outcome.rows.count).toBe(1);
    expect(outcome.rows.named).toEqual([{ table: "members", key: member?.id }]);
    expect(Object.keys(await keysOf(tenantId))).toContain("data 1 retired");
  });

  it("is retried by the job once a day, and ended once the rows are repaired", async () => {
    const broken: [TenantId, number][] = [];
    const failed: TenantId[] = [];
    const job = keyRotationsJob({
      ...{ database, keyring: new Keyring(database, rootKeys), clock },
      onFailure: (id) => failed.push(id),
      onBroken: (id, { count }) => broken.push([id, count]),
    });
    const run = async (later: number) => {
      clock.time += later;
      await job.run(new AbortController().signal);
      return broken.filter(([id]) => id === tenantId).length;
    };
    expect(await run(300_000)).toBe(1);
    expect(await run(60_000)).toBe(1);
    expect(await run(25 * 3_600_000)).toBe(2);
    expect(broken.every(([, count]) => count === 1)).toBe(true);
    await stored.asTenant(tenantId, SPOIL);
    expect(await run(25 * 3_600_000)).toBe(2);
    expect(Object.keys(await keysOf(tenantId))).not.toContain("data 1 retired");
    expect(await run(25 * 3_600_000)).toBe(2);
    expect(failed).toEqual([]);
    expect(await stored.asTenant(tenantId, "select 1 from due where kind = 'key_rotation'")).toEqual([]);
  });
});
