import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { prepareApplication, updateApplication } from "../../src/access/applications.js";
import { Authenticator } from "../../src/access/authenticate.js";
import { actorOf, type Caller } from "../../src/access/caller.js";
import { createSession, prepareAuthorization } from "../../src/access/session.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import type { TenantId, Uuid } from "../../src/base/ids.js";
import { lengthPrefixed } from "../../src/crypto/bytes.js";
import { createKeyFile } from "../../src/crypto/key-file.js";
import { createCheckValue, type RootKey } from "../../src/crypto/root-key.js";
import { SealBroken } from "../../src/crypto/sealed.js";
import type { Sensitive } from "../../src/crypto/sensitive.js";
import { requiresSeals } from "../../src/crypto/tenant-keys.js";
import { createProxy, listProxies } from "../../src/proxy/proxies.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import { insertRootKey } from "../../src/store/tenancy/root-keys.js";
import { findToken } from "../../src/store/tokens/token-reads.js";
import type { OrdinaryTransaction } from "../../src/store/transactions/transaction.js";
import { Keyring } from "../../src/tenancy/keyring.js";
import { openProfile, sealProfile } from "../../src/tenancy/profile.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { beginRotation, finishRotation } from "../../src/tenancy/tenant-rotation.js";
import { createToken } from "../../src/tokens/create.js";
import { prepareToken } from "../../src/tokens/prepare.js";
import { openToken } from "../../src/tokens/sealing.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

/*
 * A tenant of a release that sealed neither permissions nor names, and bound no value to its other columns: its keys
 * have 32 bytes.
 */

const clock = { time: Date.now(), now: () => clock.time };
const RETIRE_AFTER_MS = 2_000;

let stored: TestDatabase;
let database: Database;
let root: RootKey;
let tenantId: TenantId;
let managementKey: Sensitive<string>;
let clerkKey: Sensitive<string>;
let sessionKey: Sensitive<string>;
let tokenId: string;

beforeAll(async () => {
  stored = await startDatabase();
  database = openDatabase({ address: stored.address, sharedConnections: 2, bulkConnections: 2, clock });
  root = await createKeyFile(join(stored.dataDir, "..", "root.key"));
  await insertRootKey(stored.owner, { id: root.id, check_value: await createCheckValue(root) });
  ({ tenantId, managementKey } = await provisionTenant(database, root, { name: "T", ownerEmail: "a@example.com" }));
  await makeOlder();
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await stored?.[Symbol.asyncDispose]();
});

const hex = (bytes: Uint8Array) => `'\\x${Buffer.from(bytes).toString("hex")}'`;
const inTenant = <Row extends object>(statement: string) => stored.asTenant<Row>(tenantId, statement);
const rootKeys = { find: async () => root };
const run = <T>(work: (tx: OrdinaryTransaction) => Promise<T>) => database.ordinary.run(tenantId, "unguarded", work);
/** Another process, without any memory. */
function newServer() {
  const keyring = new Keyring(database, rootKeys);
  return { keyring, authenticator: new Authenticator(database, keyring, clock) };
}
const authenticate = (key: Sensitive<string>): Promise<Caller> =>
  newServer().authenticator.authenticate(key.reveal(), EMPTY_CONTEXT);

/**
 * Leaves the tenant as an earlier release would have created it, with an application, a token, a proxy and a session.
 */
async function makeOlder(): Promise<void> {
  const { permissions } = (await authenticate(managementKey)).grant;
  const [member] = await inTenant<{ id: Uuid; profile: Buffer }>("select id, profile from members");
  if (!member) throw new Error("the tenant has no owner");
  const profile = openProfile(await newServer().keyring.of(tenantId), tenantId, member.id, member.profile);
  for (const purpose of ["data", "cvc"] as const) {
    const context = lengthPrefixed(["cloakroom/tenant-key/1", tenantId, purpose, Buffer.from([0, 0, 0, 1])]);
    const wrapped = await root.wrap(randomBytes(32), context);
    await inTenant(`update tenant_keys set wrapped = ${hex(wrapped)} where purpose = '${purpose}'`);
  }
  const keys = await newServer().keyring.of(tenantId);
  expect(requiresSeals(keys)).toBe(false);
  const sealed = sealProfile(keys, tenantId, member.id, profile, { role: "OWNER" });
  await inTenant(`update members set profile = ${hex(sealed)}`);
  await inTenant(`
    update applications set name = 'Management', definition = null, permissions = '{${permissions.join(",")}}'`);
  await inTenant("update application_keys set proof = null");

  const manager = await authenticate(managementKey);
  const make = async (type: "private" | "public", rights: readonly string[]) => {
    const draft = { name: `A ${type} one`, permissions: rights, rules: [] };
    const { key } = await run(prepareApplication(keys, actorOf(manager), type, draft, true));
    if (!key) throw new Error("the application has no key");
    return key;
  };
  clerkKey = await make("private", ["token:create", "token:read"]);
  const [clerk, page] = [await authenticate(clerkKey), await authenticate(await make("public", ["token:create"]))];
  const draft = { type: "token", data: "an older value", attributes: { mask: "{{ data }}" }, containers: ["/a/"] };
  const prepared = prepareToken(
    clerk,
    keys,
    { ...draft, id: undefined, deduplicate: undefined, expiresAt: undefined },
    new Date(),
  );
  tokenId = (await run((tx) => createToken(tx, clerk, keys, prepared))).id;
  const properties = { name: "An older proxy", applicationId: undefined, requireAuth: true };
  const definition = {
    ...{ destinationUrl: "https://example.com", requestTransforms: [], responseTransforms: [], configuration: {} },
    ...{ requestTransform: undefined, responseTransform: undefined, disableDetokenization: false },
    ...{ requestReactorId: undefined, responseReactorId: undefined },
  };
  await run((tx) => createProxy(tx, manager, keys, properties, definition));
  const session = await run((tx) => createSession(tx, page, keys));
  sessionKey = session.key;
  const request = { nonce: session.nonce.reveal(), permissions: ["token:read"], rules: [], expiresAt: undefined };
  await run(prepareAuthorization(clerk, keys, request));
}

async function readOlderToken(): Promise<string> {
  const keys = await newServer().keyring.of(tenantId);
  const row = await run((tx) => findToken(tx, tokenId));
  if (!row) throw new Error("the token is gone");
  return String(openToken(keys, tenantId, row).data.reveal());
}

/** Runs statements as the database's owner, reads, and restores the rows. */
async function withEdit<T>(edit: string, undo: string, look: () => Promise<T>): Promise<T> {
  await inTenant(edit);
  try {
    return await look();
  } finally {
    await inTenant(undo);
  }
}

async function expectAllToWork(): Promise<void> {
  expect((await authenticate(managementKey)).grant.holds("application:create")).toBe(true);
  expect((await authenticate(clerkKey)).grant.permissions.toSorted()).toEqual(["token:create", "token:read"]);
  expect((await authenticate(sessionKey)).grant.permissions).toEqual(["token:read"]);
  expect(await readOlderToken()).toBe("an older value");
  const manager = await authenticate(managementKey);
  const keys = await newServer().keyring.of(tenantId);
  const listing = { page: 1, size: 10, ids: [], name: "an older*" };
  const { items, total } = await run((tx) => listProxies(tx, manager, keys, listing));
  expect({ total, names: items.map(({ name }) => name) }).toEqual({ total: 1, names: ["An older proxy"] });
}

async function rotate(): Promise<void> {
  expect(await beginRotation({ database, rootKeys }, tenantId)).toBe("begun");
  await expectAllToWork();
  clock.time += RETIRE_AFTER_MS + 1_000;
  const { keyring } = newServer();
  const options = { retireAfter: RETIRE_AFTER_MS, signal: new AbortController().signal, onProgress: () => {} };
  expect(await finishRotation({ database, keyring, clock }, tenantId, options)).toEqual({ state: "done" });
}

describe("a tenant of an earlier release", () => {
  it("still works, with permissions and names in the clear", async () => {
    await expectAllToWork();
    const rows = await inTenant<{ sealed: number }>(`
      select (select count(definition) from applications) + (select count(proof) from application_keys)
        + (select count(rights) from sessions) + (select count(label) from proxies) as sealed`);
    expect(Number(rows[0]?.sealed)).toBe(0);
  });

  it("cannot store the origins of hosted fields yet, and says what to do", async () => {
    const keys = await newServer().keyring.of(tenantId);
    const draft = {
      name: "Shop",
      permissions: ["token:create"],
      rules: [],
      allowedOrigins: ["https://shop.example.com"],
    };
    const manager = await authenticate(managementKey);
    const refusal = { code: "unprocessable", message: expect.stringContaining("run `cloakroom keys rotate`") };
    await expect(async () =>
      run(prepareApplication(keys, actorOf(manager), "public", draft, true)),
    ).rejects.toMatchObject(refusal);
    const rows = await inTenant<{ id: Uuid }>("select id from applications where type = 'public'");
    const [page] = rows;
    if (!page) throw new Error("the tenant has no public application");
    await expect(run((tx) => updateApplication(tx, keys, manager, page.id, draft))).rejects.toMatchObject(refusal);
  });

  it("has all of them sealed by a rotation of its keys, and works meanwhile", async () => {
    await rotate();
    await expectAllToWork();
    const [left] = await inTenant<{ n: number }>(`
      select (select count(*) from applications where definition is null or name <> '' or permissions <> '{}')
        + (select count(*) from application_keys where proof is null)
        + (select count(*) from sessions where rights is null or permissions <> '{}')
        + (select count(*) from proxies where label is null or name <> '') as n`);
    expect(Number(left?.n)).toBe(0);
  });

  it("rejects edited rows from then on", async () => {
    const ofClerk = `where id = '${actorOf(await authenticate(clerkKey)).id}'`;
    const [clerk] = await inTenant<{ definition: Buffer }>(`select definition from applications ${ofClerk}`);
    if (!clerk) throw new Error("the application is gone");
    const nulled = withEdit(
      `update applications set definition = null, permissions = '{token:delete}' ${ofClerk}`,
      `update applications set definition = ${hex(clerk.definition)}, permissions = '{}' ${ofClerk}`,
      () => authenticate(clerkKey),
    );
    await expect(nulled).rejects.toBeInstanceOf(SealBroken);
    const moved = withEdit(
      `update tokens set containers = '{/}' where id = '${tokenId}'`,
      `update tokens set containers = '{/a/}' where id = '${tokenId}'`,
      readOlderToken,
    );
    await expect(moved).rejects.toBeInstanceOf(SealBroken);
    await expectAllToWork();
  });

  it("is rotated again like any other", async () => {
    await rotate();
    await expectAllToWork();
  });
});
