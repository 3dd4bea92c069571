import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { prepareApplication } from "../../src/access/applications.js";
import { Authenticator } from "../../src/access/authenticate.js";
import { type Caller, callingApplication } from "../../src/access/caller.js";
import { callerTransaction } from "../../src/access/caller-transaction.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { asServer } from "../../src/audit/tenant-database.js";
import { systemClock } from "../../src/base/clock.js";
import { newUuid, type TenantId } from "../../src/base/ids.js";
import type { TenantKeys } from "../../src/crypto/tenant-keys.js";
import { createReactor } from "../../src/reactors/reactor.js";
import { RunQueue, type RunQueueParts } from "../../src/reactors/run-queue.js";
import { startRun } from "../../src/reactors/runs.js";
import { readConfig } from "../../src/settings/config.js";
import { insertRun, readRun } from "../../src/store/functions/reactor-runs.js";
import { connect } from "../../src/store/postgres/connect.js";
import type { OrdinaryTransaction } from "../../src/store/transactions/transaction.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { createToken } from "../../src/tokens/create.js";
import { prepareToken } from "../../src/tokens/prepare.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { agents } from "../payments/connectors/bench.js";
import { copyMigratedData } from "../support/migrated-data.js";
import { newDirectory } from "../support/new-directory.js";
import { UNLIMITED_MEMORY } from "../support/unlimited-memory.js";

const directory = newDirectory();
let vault: Vault;
let authenticator: Authenticator;
let tenantId: TenantId;
let keys: TenantKeys;
/** Of an application with all rights to tokens. */
let caller: Caller;

const run = <T>(work: (tx: OrdinaryTransaction) => Promise<T>) => vault.database.of(tenantId).ordinary(work);

beforeAll(async () => {
  const config = readConfig({ CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) });
  vault = await openVault({ config, as: "server", announce: () => {}, clock: systemClock });
  const { database, keyring } = vault;
  ({ tenantId } = await provisionTenant(vault, { name: "Test", ownerEmail: "owner@example.com" }));
  keys = await keyring.of(tenantId);
  authenticator = new Authenticator(database, keyring, systemClock);
  const rule = {
    ...{ description: undefined, priority: 1, container: "/", conditions: [], transform: "reveal" },
    ...{ permissions: ["token:create", "token:use"], requiresReason: false },
  };
  const rights = { name: "Shop", permissions: [], rules: [rule] };
  const { made } = await asServer(database, keys).ordinary(prepareApplication("private", rights, false));
  const found = await authenticator.application(tenantId, made.id, EMPTY_CONTEXT);
  if (!found) throw new Error("the application was not created");
  caller = found;
});
afterAll(async () => {
  await vault?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const CODE = { kind: "code", code: "module.exports = async () => ({ raw: 1 });" } as const;

async function newReactor() {
  const properties = { name: "R", code: CODE, applicationId: undefined, configuration: {}, runtime: undefined };
  return run((tx) => createReactor(callerTransaction(tx, keys, caller), properties));
}

function queueWith(parts: Pick<RunQueueParts, "functions" | "onFailure"> & Partial<RunQueueParts>): RunQueue {
  return new RunQueue({
    ...{ database: vault.database, keyring: vault.keyring, authenticator, agents },
    openMemory: () => ({ ...UNLIMITED_MEMORY, close: () => {} }),
    bins: undefined,
    callApi: async () => ({ status: 500, body: null, lasting: () => null }),
    showError: () => null,
    onUndelivered: () => {},
    ...parts,
  });
}

it("runs that were leased together with an unreadable one are waited for", async () => {
  const reactor = await newReactor();
  await run(async (tx) => {
    const ids = { id: newUuid(), reactor_id: reactor.id, application_id: callingApplication(caller).id };
    const times = { due_at: new Date(), expires_at: new Date(Date.now() + 3_600_000) };
    tx.enqueue(insertRun, { ...ids, request: Buffer.from("changed by somebody else"), ...times });
  });
  await run((tx) => startRun(callerTransaction(tx, keys, caller), reactor.id, { args: 1, callbackUrl: undefined }));

  const events: string[] = [];
  const started = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const queue = queueWith({
    functions: {
      async run() {
        started.resolve();
        await released.promise;
        events.push("the other has run");
        return { kind: "returned", value: { raw: 1 } };
      },
    },
    onFailure: () => void events.push("the failure is reported"),
  });
  queue.wake(tenantId);
  await started.promise;
  const stopped = queue.stop().then(() => void events.push("stopped"));
  // The first of them has failed by now.
  await new Promise((resolve) => setImmediate(resolve));
  released.resolve();
  await stopped;
  expect(events).toEqual(["the other has run", "the failure is reported", "stopped"]);
});

it("a run without memory for its large token is put off, and runs once there is some", async () => {
  const reactor = await newReactor();
  const draft = { id: undefined, type: "token", data: "x".repeat(100_000), attributes: {}, containers: [] };
  const prepared = prepareToken(
    { caller, keys, now: new Date() },
    { ...draft, deduplicate: false, expiresAt: undefined },
  );
  const token = await run((tx) => createToken(callerTransaction(tx, keys, caller), prepared));
  const args = { text: `{{ ${token.id} }}` };
  await run((tx) => startRun(callerTransaction(tx, keys, caller), reactor.id, { args, callbackUrl: undefined }));

  const events: string[] = [];
  let hasMemory = false;
  const queue = queueWith({
    openMemory: () => ({
      reserveReadNow(bytes) {
        events.push("memory asked for");
        return hasMemory ? UNLIMITED_MEMORY.reserveReadNow(bytes) : undefined;
      },
      close: () => void events.push("memory returned"),
    }),
    functions: {
      async run() {
        events.push("run");
        return { kind: "returned", value: { raw: 1 } };
      },
    },
    onFailure: () => void events.push("failed"),
  });
  queue.wake(tenantId);
  await vi.waitFor(() => expect(events).toContain("memory returned"));
  expect(new Set(events)).toEqual(new Set(["memory asked for", "memory returned"]));
  hasMemory = true;
  events.length = 0;
  await vi.waitFor(
    () => {
      queue.wake(tenantId);
      expect(events).toEqual(["memory asked for", "run", "memory returned"]);
    },
    { interval: 100 },
  );
  await queue.stop();
});

it("the result of a run stays if the server stops during the last attempt to deliver it", async () => {
  const reactor = await newReactor();
  const asked: (() => void)[] = [];
  const silent = createServer(() => asked.shift()?.()).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = silent.address();
  const callbackUrl = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/`;
  const id = await run((tx) => startRun(callerTransaction(tx, keys, caller), reactor.id, { args: 1, callbackUrl }));
  const failures: unknown[] = [];
  const stopDuringAttempt = async () => {
    const queue = queueWith({
      functions: { run: async () => ({ kind: "returned", value: { raw: 1 } }) },
      onFailure: (_, error) => void failures.push(error),
    });
    const attempt = new Promise<void>((resolve) => void asked.push(resolve));
    queue.wake(tenantId);
    await attempt;
    await queue.stop();
    return run((tx) => tx.query(readRun, id));
  };
  const owner = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
  try {
    expect(await stopDuringAttempt()).toMatchObject({ state: "delivering", attempts: 0 });
    await owner.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenantId}, true)`;
      await tx`update reactor_runs set attempts = 10, due_at = created_at where id = ${id}`;
    });
    expect(await stopDuringAttempt()).toMatchObject({ state: "delivering", attempts: 10 });
  } finally {
    await owner.end({ timeout: 5 });
    silent.closeAllConnections();
    silent.close();
  }
  expect(failures).toEqual([]);
});
