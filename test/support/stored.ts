import { inject } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { readConfig } from "../../src/settings/config.js";
import { connect } from "../../src/store/postgres/connect.js";
import { openVault } from "../../src/vault/vault.js";
import { tenantTables } from "../store/support/samples.js";

/** Tables that a request may write to, including idempotency keys and counters. */
const TABLES = [
  "applications",
  "application_keys",
  "sessions",
  "tokens",
  "token_cvc",
  "idempotency_keys",
  "audit_logs",
  "payments",
  "simulator_payments",
  "proxies",
  "reactor_runs",
  "failed_runs",
] as const;

export type StoredCounts = Readonly<Record<(typeof TABLES)[number], number>>;

/** Reads the database of a running server, as its operator could. */
export interface Stored extends AsyncDisposable {
  /** The number of a tenant's rows in each table. Rows about refused keys follow up to a second after the response. */
  counts(tenantId: string): Promise<StoredCounts>;
  /** Everything that a tenant has in a table, as text, to search it for values that must not be there. */
  textOf(tenantId: string, table: (typeof TABLES)[number]): Promise<string>;
  /** The tables that contain anything of a tenant, with the number of rows. */
  left(tenantId: string): Promise<Readonly<Record<string, number>>>;
  /** Changes rows of a tenant, as an attacker who owns the database and has no key can. */
  change(tenantId: string, statement: string): Promise<void>;
  /** Waits out the time for which a process that is gone had the tenant's work reserved. */
  endLeases(tenantId: string): Promise<void>;
  /** Locks a table against writes until the promise that `during` returns is settled. */
  holding<T>(table: (typeof TABLES)[number], during: () => Promise<T>): Promise<T>;
  /** Locks the idempotency keys of these tenants, as requests that are under way do. */
  holdingKeys<T>(tenantIds: readonly string[], during: () => Promise<T>): Promise<T>;
}

export async function openStored(
  environment: Readonly<Record<string, string>> = inject("serverEnvironment"),
): Promise<Stored> {
  const vault = await openVault({
    config: readConfig(environment),
    as: "command",
    announce: () => {},
    clock: systemClock,
  });
  const sql = connect(vault.ownerAddress, { connections: 2, statementTimeout: 20_000 });
  const inTenant = <Row extends object>(tenantId: string, query: string) =>
    sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenantId}, true)`;
      return [...(await tx.unsafe<Row[]>(query))];
    });
  return {
    async counts(tenantId) {
      const columns = TABLES.map(
        (table) => `(select count(*)::int from ${table} where tenant_id = '${tenantId}') as ${table}`,
      );
      const [row] = await inTenant<StoredCounts>(tenantId, `select ${columns.join(", ")}`);
      if (!row) throw new Error("a count returned nothing");
      return row;
    },
    async textOf(tenantId, table) {
      const rows = await inTenant<{ text: string }>(
        tenantId,
        `select t::text as text from ${table} t where tenant_id = '${tenantId}'`,
      );
      return rows.map(({ text }) => text).join("\n");
    },
    async left(tenantId) {
      const counted: Record<string, number> = {};
      for (const table of await tenantTables(sql)) {
        const [row] = await inTenant<{ n: number }>(
          tenantId,
          `select count(*)::int as n from ${table} where tenant_id = '${tenantId}'`,
        );
        if (row && row.n > 0) counted[table] = row.n;
      }
      return counted;
    },
    async change(tenantId, statement) {
      await inTenant(tenantId, statement);
    },
    async endLeases(tenantId) {
      const whose = `where tenant_id = '${tenantId}'`;
      await inTenant(tenantId, `update payments set lease_until = created_at, due_at = created_at ${whose}`);
      await inTenant(tenantId, `update reactor_runs set lease_until = created_at ${whose}`);
      await inTenant(tenantId, `update idempotency_keys set lease_until = expires_at - interval '1 day' ${whose}`);
    },
    holding: (table, during) =>
      sql
        .begin(async (tx) => {
          await tx.unsafe(`lock table ${table} in exclusive mode`);
          return { result: await during() };
        })
        .then(({ result }) => result),
    holdingKeys: (tenantIds, during) =>
      sql
        .begin(async (tx) => {
          for (const id of tenantIds) {
            await tx`select set_config('app.tenant_id', ${id}, true)`;
            await tx`select from idempotency_keys where tenant_id = ${id} for update`;
          }
          return { result: await during() };
        })
        .then(({ result }) => result),
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 5 });
      await vault[Symbol.asyncDispose]();
    },
  };
}
