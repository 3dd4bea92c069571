import type { TenantId } from "../base/ids.js";
import { type EndRow, type RawLogRow, rawLogText, type SealRow } from "./audit-seals.js";
import type { DatabaseAddress, Sql } from "./connect.js";
import { connectOnce } from "./one-connection.js";

/** Rows a trip. 10,000 took as long and held more. */
const PAGE = 2_000;

/** A tenant's log and its seals as they were at one moment. One of the two is read at a time. */
export interface LogSnapshot {
  readonly end: EndRow | undefined;
  /** How many rows the seals count, those that were removed when their time was over included. */
  readonly sealedRows: number;
  /** Pages of seals, oldest first. */
  seals(): AsyncGenerator<readonly SealRow[]>;
  /** Pages of rows, oldest first. */
  rows(): AsyncGenerator<readonly RawLogRow[]>;
}

/** Reads a tenant's log page by page in one transaction, so that what is sealed meanwhile does not show halfway. */
export async function readLogSnapshot<T>(
  address: DatabaseAddress,
  tenantId: TenantId,
  read: (snapshot: LogSnapshot) => Promise<T>,
): Promise<T> {
  await using snapshot = await openLogSnapshot(address, tenantId);
  return await read(snapshot);
}

/** The same for whoever reads on and off. It holds a connection until it is disposed of. */
export async function openLogSnapshot(
  address: DatabaseAddress,
  tenantId: TenantId,
): Promise<LogSnapshot & AsyncDisposable> {
  const connection = connectOnce(address, { role: "cloakroom_app", statementTimeout: 0 });
  const { sql } = connection;
  await using stack = new AsyncDisposableStack();
  // A transaction that only reads has nothing to lose with its connection.
  stack.defer(() => connection.end(1));
  await sql.unsafe("begin isolation level repeatable read read only");
  // Between two pages their reader works on the first. The literal is safe because a TenantId is a UUID.
  await sql.unsafe(`set local app.tenant_id = '${tenantId}'`);
  await sql.unsafe("set local idle_in_transaction_session_timeout = 0");
  const [end] = await sql<EndRow[]>`
    select number, last_mac, kept_from, key_version, mac from audit_heads where tenant_id = ${tenantId}`;
  const [sum] = await sql<{ rows: number }[]>`
    select coalesce(sum(row_count), 0)::bigint as rows from audit_seals where tenant_id = ${tenantId}`;
  const owned = stack.move();
  return {
    end,
    sealedRows: sum?.rows ?? 0,
    seals: () => sealPages(sql, tenantId),
    rows: () => rowPages(sql, tenantId),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function* sealPages(sql: Sql, tenantId: TenantId): AsyncGenerator<readonly SealRow[]> {
  let page: readonly SealRow[] = [];
  do {
    const last = page.at(-1);
    page = await sql<SealRow[]>`
      select window_start, number, row_count, digest, previous, key_version, mac, sealed_at from audit_seals
      where tenant_id = ${tenantId} ${last ? sql`and window_start > ${last.window_start}` : sql``}
      order by window_start limit ${PAGE}`;
    yield page;
  } while (page.length === PAGE);
}

async function* rowPages(sql: Sql, tenantId: TenantId): AsyncGenerator<readonly RawLogRow[]> {
  let page: readonly RawLogRow[] = [];
  do {
    const range = { from: undefined, until: undefined, after: page.at(-1), limit: PAGE };
    const { text, values } = rawLogText(tenantId, range);
    page = await sql.unsafe<RawLogRow[]>(text, values);
    yield page;
  } while (page.length === PAGE);
}
