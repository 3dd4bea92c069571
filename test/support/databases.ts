import { rmSync } from "node:fs";
import { join } from "node:path";
import type { TenantId } from "../../src/base/ids.js";
import { type EmbeddedDatabase, startEmbeddedDatabase } from "../../src/store/embedded/embedded-database.js";
import { migrate } from "../../src/store/migrate.js";
import { connect, type Sql } from "../../src/store/postgres/connect.js";
import { copyMigratedData } from "./migrated-data.js";
import { newDirectory } from "./new-directory.js";

/** A database for one test file, empty except for the schema. */
export interface TestDatabase extends AsyncDisposable {
  readonly address: EmbeddedDatabase["connection"];
  /** Its `dataDir`, for tests that restart it themselves after a `stop`. */
  readonly dataDir: string;
  /** The login role, which owns the tables. Row-level security applies to it too. */
  readonly owner: Sql;
  /** Runs a statement as the application would for this tenant, and returns its rows. */
  asTenant<Row extends object>(tenantId: TenantId, statement: string): Promise<Row[]>;
}

/** Creates the data that {@link copyMigratedData} copies: about two seconds. */
export async function makeMigratedData(): Promise<Disposable & { readonly dataDir: string }> {
  const directory = newDirectory();
  const dataDir = join(directory, "data");
  await using database = await startEmbeddedDatabase({ dataDir, announce: () => {} });
  await migrate(database.connection);
  return { dataDir, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

/** Starts an embedded database on a copy of the migrated data: half a second. */
export async function startDatabase(): Promise<TestDatabase> {
  const directory = newDirectory();
  const dataDir = copyMigratedData(join(directory, "data"));
  const database = await startEmbeddedDatabase({ dataDir, announce: () => {} });
  const owner = connect(database.connection, { connections: 2, statementTimeout: 20_000 });
  return {
    address: database.connection,
    dataDir,
    owner,
    asTenant: (tenantId, statement) => asTenant(owner, tenantId, statement),
    async [Symbol.asyncDispose]() {
      await owner.end({ timeout: 5 });
      await database.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export async function asTenant<Row extends object>(sql: Sql, tenantId: TenantId, statement: string): Promise<Row[]> {
  const rows: Row[] = [];
  await sql.begin(async (tx) => {
    // The owner itself is a member of cloakroom_jobs, which sees due work of all tenants.
    await tx.unsafe(`set local role cloakroom_app; set local app.tenant_id = '${tenantId}'`);
    rows.push(...(await tx.unsafe<Row[]>(statement)));
  });
  return rows;
}
