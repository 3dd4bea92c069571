import { join } from "node:path";
import { logEntry } from "../../../src/audit/log-entry.js";
import { type LogVerdict, type SeenSeal, verifyLog } from "../../../src/audit/verify-log.js";
import type { TenantId } from "../../../src/base/ids.js";
import { createKeyFile } from "../../../src/crypto/key-file.js";
import { makeCheckValue } from "../../../src/crypto/root-key.js";
import { logSealsJob } from "../../../src/jobs/log-seals.js";
import { writeLog } from "../../../src/store/audit-logs.js";
import { type Database, openDatabase } from "../../../src/store/database.js";
import { readLogSnapshot } from "../../../src/store/log-snapshot.js";
import { insertRootKey } from "../../../src/store/root-keys.js";
import { Keyring } from "../../../src/tenancy/keyring.js";
import { provisionTenant } from "../../../src/tenancy/provision.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";

export const MINUTE = 60_000;

/** A vault without its faces, whose clock stands at an early hour until it is moved. */
export interface Ledger extends AsyncDisposable {
  readonly stored: TestDatabase;
  readonly database: Database;
  readonly keyring: Keyring;
  /** The time of the servers. It is behind the database's, so that the database never finds it too early to seal. */
  readonly clock: { time: number; now(): number };
  /** Another server on the same database. */
  another(): { readonly database: Database; readonly keyring: Keyring };
  newTenant(): Promise<TenantId>;
  /** Writes so many rows of the log at the time it is. */
  log(tenantId: TenantId, rows: number): Promise<void>;
  /** Runs the job once, as the scheduler does. */
  runJob(options?: {
    readonly retentionDays?: number;
  }): Promise<{ readonly failed: unknown[]; readonly broken: string[] }>;
  verify(tenantId: TenantId, seen?: SeenSeal): Promise<LogVerdict>;
  /** Changes the database as its owner can, who has no key. */
  tamper(tenantId: TenantId, statement: string): Promise<void>;
  rows<Row extends object>(tenantId: TenantId, query: string): Promise<Row[]>;
}

export async function openLedger(): Promise<Ledger> {
  const stored = await startDatabase();
  const root = await createKeyFile(join(stored.dataDir, "..", "root.key"));
  await insertRootKey(stored.owner, { id: root.id, check_value: await makeCheckValue(root) });
  const start = Math.floor(Date.now() / MINUTE) * MINUTE - 6 * 60 * MINUTE;
  const clock = { time: start, now: () => clock.time };
  const opened: Database[] = [];
  const another = () => {
    const database = openDatabase({ address: stored.address, fastConnections: 2, slowConnections: 2, clock });
    opened.push(database);
    return { database, keyring: new Keyring(database, { find: async () => root }) };
  };
  const { database, keyring } = another();
  return {
    ...{ stored, database, keyring, clock, another },
    async newTenant() {
      const { tenantId } = await provisionTenant(database, root, { name: "Test", ownerEmail: "a@example.com" });
      return tenantId;
    },
    log: (tenantId, rows) =>
      database.fast.run(tenantId, "unguarded", async (tx) => {
        for (let row = 0; row < rows; row += 1) writeLog(tx, logEntry(undefined, "token", `token-${row}`, "read"));
      }),
    async runJob({ retentionDays = 365 } = {}) {
      const failed: unknown[] = [];
      const broken: string[] = [];
      const job = logSealsJob({
        ...{ database, keyring, clock, retentionDays },
        onFailure: (_, error) => failed.push(error),
        onBroken: (tenantId) => broken.push(tenantId),
      });
      // Each is a process of its own to the lease.
      await stored.owner`delete from leases`;
      await job.run(new AbortController().signal);
      return { failed, broken };
    },
    async verify(tenantId, seen) {
      const keys = await keyring.of(tenantId);
      return readLogSnapshot(stored.address, tenantId, (snapshot) =>
        verifyLog(snapshot, tenantId, keys, { seen, onProgress: () => {} }),
      );
    },
    async tamper(tenantId, statement) {
      await stored.asTenant(tenantId, statement);
    },
    rows: (tenantId, query) => stored.asTenant(tenantId, query),
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each[Symbol.asyncDispose]();
      await stored[Symbol.asyncDispose]();
    },
  };
}
