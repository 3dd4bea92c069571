import type { TenantId } from "../base/ids.js";
import {
  END_COLUMNS,
  type EndRow,
  type RawLogRow,
  rawLogText,
  SEAL_COLUMNS,
  type SealRow,
  type Strand,
} from "./audit-seals.js";
import type { DatabaseAddress, Sql } from "./connect.js";
import { connectOnce } from "./one-connection.js";

/** Rows per trip. 10,000 took as long and held more memory. */
const PAGE = 2_000;

/** A tenant's log and its seals as of one moment. Read only one of the two at a time. */
export interface LogSnapshot {
  readonly end: EndRow | undefined;
  /** The number of rows that the seals count, including rows that were deleted after their retention. */
  readonly sealedRows: number;
  /** Entries that record where the log's time was set back, oldest first. */
  readonly setBacks: readonly SealRow[];
  /** The time by the database's clock. */
  readonly takenAt: Date;
  /** Pages of the chain's entries, in chain order. */
  seals(): AsyncGenerator<readonly SealRow[]>;
  /** Pages of rows, oldest first: all rows, or those that an entry has set aside. */
  rows(strand: Strand): AsyncGenerator<readonly RawLogRow[]>;
}

/** Reads a tenant's log page by page in one transaction. Seals that are written meanwhile do not appear in part. */
export async function readLogSnapshot<T>(
  address: DatabaseAddress,
  tenantId: TenantId,
  read: (snapshot: LogSnapshot) => Promise<T>,
): Promise<T> {
  await using snapshot = await openLogSnapshot(address, tenantId);
  return await read(snapshot);
}

/** The same for readers that pause between pages. It holds a connection until it is disposed of. */
export async function openLogSnapshot(
  address: DatabaseAddress,
  tenantId: TenantId,
): Promise<LogSnapshot & AsyncDisposable> {
  const connection = connectOnce(address, { role: "cloakroom_app", statementTimeout: 0 });
  const { sql } = connection;
  await using stack = new AsyncDisposableStack();
  // A read-only transaction loses nothing with its connection.
  stack.defer(() => connection.end(1));
  await sql.unsafe("begin isolation level repeatable read read only");
  // The reader works on each page before it asks for the next. The literal is safe because a TenantId is a UUID.
  await sql.unsafe(`set local app.tenant_id = '${tenantId}'`);
  await sql.unsafe("set local idle_in_transaction_session_timeout = 0");
  const [end] = await sql<EndRow[]>`
    select ${sql.unsafe(END_COLUMNS)} from audit_heads where tenant_id = ${tenantId}`;
  const [sum] = await sql<{ rows: number; now: Date }[]>`
    select coalesce(sum(row_count), 0)::bigint as rows, now() as now
    from audit_seals where tenant_id = ${tenantId} and kind = 'minute'`;
  const setBacks = await sql<SealRow[]>`
    select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals
    where tenant_id = ${tenantId} and kind = 'set_back' order by number`;
  const owned = stack.move();
  return {
    ...{ end, setBacks, sealedRows: sum?.rows ?? 0, takenAt: sum?.now ?? new Date(0) },
    seals: () => sealPages(sql, tenantId),
    rows: (strand) => rowPages(sql, tenantId, strand),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function* sealPages(sql: Sql, tenantId: TenantId): AsyncGenerator<readonly SealRow[]> {
  let page: readonly SealRow[] = [];
  do {
    const last = page.at(-1);
    page = await sql<SealRow[]>`
      select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals
      where tenant_id = ${tenantId} ${last ? sql`and number > ${last.number}` : sql``}
      order by number limit ${PAGE}`;
    yield page;
  } while (page.length === PAGE);
}

async function* rowPages(sql: Sql, tenantId: TenantId, strand: Strand): AsyncGenerator<readonly RawLogRow[]> {
  let page: readonly RawLogRow[] = [];
  do {
    const range = { strand, from: undefined, until: undefined, after: page.at(-1), limit: PAGE };
    const { text, values } = rawLogText(tenantId, range);
    page = await sql.unsafe<RawLogRow[]>(text, values);
    yield page;
  } while (page.length === PAGE);
}
