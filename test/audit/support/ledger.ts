import { join } from "node:path";
import type { Archiving } from "../../../src/audit/archive/log-archive.js";
import { ChainHistory } from "../../../src/audit/chain/chain-history.js";
import type { BlockedMonth } from "../../../src/audit/chain/log-months.js";
import type { SealParts } from "../../../src/audit/chain/seal-log.js";
import { logEntry } from "../../../src/audit/log-entry.js";
import { type LogVerdict, type SeenSeal, type VerifyOptions, verifyLog } from "../../../src/audit/verify/verify-log.js";
import { type VaultVerdict, verifyVault } from "../../../src/audit/verify/verify-vault.js";
import { type TenantId, VAULT_TENANT_ID } from "../../../src/base/ids.js";
import { createKeyFile } from "../../../src/crypto/key-file.js";
import { createCheckValue, type RootKey } from "../../../src/crypto/root-key.js";
import { logMonthsJob } from "../../../src/jobs/log-months.js";
import { logSealsJob } from "../../../src/jobs/log-seals.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import type { StuckMonth } from "../../../src/store/audit/log-partitions.js";
import { readLogSnapshot } from "../../../src/store/audit/log-snapshot.js";
import { type Database, openDatabase } from "../../../src/store/database.js";
import { insertRootKey } from "../../../src/store/tenancy/root-keys.js";
import { Keyring } from "../../../src/tenancy/keyring.js";
import { provisionTenant } from "../../../src/tenancy/provision.js";
import { writtenColumns } from "../../store/support/samples.js";
import { movableClock } from "../../support/database-clock.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";

export const MINUTE = 60_000;

/** A vault without its APIs, whose clock shows an early hour until it is moved. */
export interface Ledger extends AsyncDisposable {
  readonly stored: TestDatabase;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly rootKeys: { find(id: string): Promise<RootKey> };
  /** The time of the servers. It is behind the database's, so the database never finds it too early to seal. */
  readonly clock: { time: number; now(): number };
  /** Moves the database's clock, if it is movable. */
  setDatabaseAhead(milliseconds: number): Promise<void>;
  /** Where its jobs archive months. */
  readonly settings: { archiving: Archiving };
  /** What could not be archived, of the archive itself and of tenants, by the last run of the months' job. */
  readonly unarchived: string[];
  /** What this server remembers of chains. */
  readonly history: ChainHistory;
  /** Another server on the same database, without any memory. */
  another(): SealParts;
  newTenant(): Promise<TenantId>;
  /** Writes this many rows of the log at the current time. */
  log(tenantId: TenantId, rows: number): Promise<void>;
  /** Runs the job once, as the scheduler does, on this server or another. */
  runJob(options?: {
    readonly retentionDays?: number;
    readonly server?: SealParts;
  }): Promise<{ readonly failed: unknown[]; readonly broken: string[] }>;
  /** Runs the job of the log's months once. Returns the months that stay although they are past their retention. */
  turnMonths(options: {
    readonly retentionDays: number;
    readonly sinks?: SealParts["sinks"];
    /** Leases that earlier runs still hold. */
    readonly held?: readonly string[];
  }): Promise<BlockedMonth[]>;
  /** What the last run of that job could not make or remove. */
  readonly stuck: readonly (StuckMonth & { readonly step: string })[];
  verify(tenantId: TenantId, seen?: SeenSeal): Promise<LogVerdict>;
  /** Like `audit verify` without `--since`: checks against the vault's own chain. */
  verifyAttested(tenantId: TenantId, options?: Pick<VerifyOptions, "sealedBy">): Promise<LogVerdict>;
  verifyVault(): Promise<VaultVerdict>;
  /** Changes the database as its owner can, without a key. */
  tamper(tenantId: TenantId, statement: string): Promise<void>;
  rows<Row extends object>(tenantId: TenantId, query: string): Promise<Row[]>;
  /** A tenant's rows of a table, as JSON. */
  copy(tenantId: TenantId, table: string): Promise<string>;
  /** Replaces a tenant's rows of a table by copies made earlier. */
  putBack(tenantId: TenantId, table: string, copy: string): Promise<void>;
}

export async function openLedger({ hasMovableClock = false } = {}): Promise<Ledger> {
  const stored = await startDatabase();
  const databaseClock = hasMovableClock ? await movableClock(stored.owner) : undefined;
  const root = await createKeyFile(join(stored.dataDir, "..", "root.key"));
  await insertRootKey(stored.owner, { id: root.id, check_value: await createCheckValue(root) });
  const start = Math.floor(Date.now() / MINUTE) * MINUTE - 6 * 60 * MINUTE;
  const clock = { time: start, now: () => clock.time };
  const rootKeys = { find: async () => root };
  const opened: Database[] = [];
  const stuck: (StuckMonth & { readonly step: string })[] = [];
  const settings: { archiving: Archiving } = { archiving: undefined };
  const unarchived: string[] = [];
  const another = () => {
    const database = openDatabase({ address: stored.address, sharedConnections: 2, bulkConnections: 2, clock });
    opened.push(database);
    return { database, keyring: new Keyring(database, rootKeys), history: new ChainHistory() };
  };
  const own = another();
  const { database, keyring, history } = own;
  const vaultOf = async () => {
    const keys = await keyring.of(VAULT_TENANT_ID);
    return readLogSnapshot(stored.address, VAULT_TENANT_ID, (snapshot) =>
      verifyVault(snapshot, keys, { hasTenants: true }),
    );
  };
  return {
    ...{ stored, database, keyring, rootKeys, history, clock, another, stuck, settings, unarchived },
    async setDatabaseAhead(milliseconds) {
      if (!databaseClock) throw new Error("the clock of this database cannot be moved");
      await databaseClock.setAhead(milliseconds);
    },
    async newTenant() {
      const { tenantId } = await provisionTenant(
        { database, rootKey: root, keyring },
        { name: "Test", ownerEmail: "a@example.com" },
      );
      return tenantId;
    },
    log: (tenantId, rows) =>
      database.of(tenantId).shared(async (tx) => {
        for (let row = 0; row < rows; row += 1) writeLog(tx, logEntry("token", `token-${row}`, "read"));
      }),
    async runJob({ retentionDays = 365, server = own } = {}) {
      const failed: unknown[] = [];
      const broken: string[] = [];
      const job = logSealsJob({
        ...{ ...server, clock, retentionDays, archiving: settings.archiving },
        onFailure: (_, error) => failed.push(error),
        onBroken: (tenantId, outcome) => broken.push(outcome === "broken" ? tenantId : `${outcome} ${tenantId}`),
        onVaultBroken: () => broken.push("the vault"),
      });
      // Each is a separate process to the lease.
      await stored.owner`delete from leases`;
      await job.run(new AbortController().signal);
      return { failed, broken };
    },
    async turnMonths({ retentionDays, sinks = [], held = [] }) {
      const blocked: BlockedMonth[] = [];
      stuck.splice(0);
      const parts = { ...own, sinks, clock, retentionDays, address: stored.address, ownerAddress: stored.address };
      unarchived.splice(0);
      const job = logMonthsJob({
        ...parts,
        archiving: settings.archiving,
        onLag: () => {},
        onArchive: (problem) => unarchived.push(problem ?? "working again"),
        onFailure: (_, error) => unarchived.push(error instanceof Error ? error.message : "unknown"),
        onBlocked: (month) => blocked.push(month),
        onStuck: (month, step) => stuck.push({ ...month, step }),
      });
      await stored.owner`delete from leases where not name = any(${held})`;
      await job.run(new AbortController().signal);
      return blocked;
    },
    async verify(tenantId, seen) {
      const keys = await keyring.of(tenantId);
      return readLogSnapshot(stored.address, tenantId, (snapshot) =>
        verifyLog(snapshot, keys, { seen, onProgress: () => {} }),
      );
    },
    verifyVault: vaultOf,
    async verifyAttested(tenantId, { sealedBy } = {}) {
      const [keys, { attested }] = [await keyring.of(tenantId), await vaultOf()];
      const options = { seen: undefined, attested: attested.get(tenantId), sealedBy, onProgress: () => {} };
      return readLogSnapshot(stored.address, tenantId, (snapshot) => verifyLog(snapshot, keys, options));
    },
    async tamper(tenantId, statement) {
      await stored.asTenant(tenantId, statement);
    },
    rows: (tenantId, query) => stored.asTenant(tenantId, query),
    async copy(tenantId, table) {
      const select = `select coalesce(json_agg(t), '[]')::text as copy from ${table} t where tenant_id = '${tenantId}'`;
      const [row] = await stored.asTenant<{ copy: string }>(tenantId, select);
      return row?.copy ?? "[]";
    },
    async putBack(tenantId, table, copy) {
      const names = (await writtenColumns(stored.owner, table)).map(({ name }) => name).join(", ");
      const rows = `json_populate_recordset(null::${table}, '${copy.replaceAll("'", "''")}')`;
      await stored.asTenant(tenantId, `delete from ${table} where tenant_id = '${tenantId}'`);
      await stored.asTenant(tenantId, `insert into ${table} (${names}) select ${names} from ${rows}`);
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each[Symbol.asyncDispose]();
      await stored[Symbol.asyncDispose]();
    },
  };
}
