import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Authenticator } from "../../src/access/authenticate.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { systemClock } from "../../src/base/clock.js";
import { newUuid } from "../../src/base/ids.js";
import { createReactor } from "../../src/reactors/reactor.js";
import { RunQueue } from "../../src/reactors/run-queue.js";
import { startRun } from "../../src/reactors/runs.js";
import { readConfig } from "../../src/settings/config.js";
import { insertRun } from "../../src/store/functions/reactor-runs.js";
import type { OrdinaryTransaction } from "../../src/store/transactions/transaction.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { openVault } from "../../src/vault/vault.js";
import { agents } from "../payments/connectors/bench.js";
import { copyMigratedData } from "../support/migrated-data.js";
import { newDirectory } from "../support/new-directory.js";
import { UNLIMITED_MEMORY } from "../support/unlimited-memory.js";

it("runs that were leased together with an unreadable one are waited for", async () => {
  const directory = newDirectory();
  const config = readConfig({ CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) });
  const vault = await openVault({ config, as: "server", announce: () => {}, clock: systemClock });
  try {
    const { database, keyring } = vault;
    const owner = { name: "Test", ownerEmail: "owner@example.com" };
    const { tenantId, applicationId } = await provisionTenant(database, vault.rootKey, owner);
    const keys = await keyring.of(tenantId);
    const authenticator = new Authenticator(database, keyring, systemClock);
    const caller = await authenticator.application(tenantId, applicationId, EMPTY_CONTEXT);
    if (!caller) throw new Error("the tenant has no application");
    const run = <T>(work: (tx: OrdinaryTransaction) => Promise<T>) =>
      database.ordinary.run(tenantId, "unguarded", work);

    const code = "module.exports = async () => ({ raw: 1 });";
    const properties = {
      name: "R",
      code: { kind: "code", code },
      applicationId: undefined,
      configuration: {},
      runtime: undefined,
    } as const;
    const reactor = await run((tx) => createReactor(tx, caller, keys, properties));
    const expiresAt = new Date(Date.now() + 3_600_000);
    const times = { due_at: new Date(), expires_at: expiresAt };
    await run(async (tx) => {
      const ids = { id: newUuid(), reactor_id: reactor.id, application_id: applicationId };
      tx.enqueue(insertRun, { ...ids, request: Buffer.from("changed by somebody else"), ...times });
    });
    const _id = await run((tx) => startRun(tx, caller, keys, reactor.id, { args: 1, callbackUrl: undefined }));

    const events: string[] = [];
    const started = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const queue = new RunQueue({
      ...{ database, keyring, authenticator, agents },
      openMemory: () => ({ ...UNLIMITED_MEMORY, close: () => {} }),
      functions: {
        async run() {
          started.resolve();
          await released.promise;
          events.push("the other has run");
          return { kind: "returned", value: { raw: 1 } };
        },
      },
      bins: undefined,
      callApi: async () => ({ status: 500, body: null, lasting: () => null }),
      showError: () => null,
      onFailure: () => void events.push("the failure is reported"),
      onUndelivered: () => {},
    });
    queue.wake(tenantId);
    await started.promise;
    const stopped = queue.stop().then(() => void events.push("stopped"));
    // The first of them has failed by now.
    await new Promise((resolve) => setImmediate(resolve));
    released.resolve();
    await stopped;
    expect(events).toEqual(["the other has run", "the failure is reported", "stopped"]);
  } finally {
    await vault[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  }
});
