import type { TenantId } from "../../base/ids.js";
import type { DatabaseAddress, Sql } from "../postgres/connect.js";
import { connectOnce } from "../postgres/one-connection.js";
import type { AnchorRow } from "./audit-anchors.js";
import { HEAD_COLUMNS, type HeadRow, SEAL_COLUMNS, type SealRow } from "./audit-seals.js";
import { type RawLogRow, rawLogText, type SealedGroup } from "./raw-log.js";
import { type RightsRow, rightsRows } from "./rights-rows.js";

/** Rows per trip. 10,000 took as long and held more memory. */
const PAGE = 2_000;

/** A tenant's log and its seals as of one moment. Read only one of the two at a time. */
export interface LogSnapshot {
  readonly head: HeadRow | undefined;
  /** The number of rows that the seals count, including rows that were deleted after their retention. */
  readonly sealedRows: number;
  /** Entries that record where the log's time was set back, oldest first. */
  readonly setBacks: readonly SealRow[];
  readonly takenAt: Date;
  /** No row gets a time before this. Absent: never closed, or just being set back. */
  readonly closedUntil: Date | undefined;
  /** Pages of the chain's entries, in chain order: all, or those with these numbers. */
  seals(numbers?: Pick<EntryNumbers, "first" | "last">): AsyncGenerator<readonly SealRow[]>;
  /** Pages of rows, oldest first: all rows, or those that an entry has set aside; from a time on, if it is given. */
  rows(group: SealedGroup, from?: Date): AsyncGenerator<readonly RawLogRow[]>;
  /** The number of rows in a range of time, sealed or not. */
  countRows(range: { readonly since: Date; readonly until: Date }): Promise<number>;
  /** The rows that give rights in the tenant, as of the same moment. */
  rightsRows(): AsyncGenerator<RightsRow>;
  /** Entries with these numbers that time stamps cover. */
  anchors(numbers: Pick<EntryNumbers, "first" | "last">): Promise<readonly AnchorRow[]>;
  numbersOf(range: { readonly since: Date; readonly until: Date }): Promise<EntryNumbers>;
}

/**
 * The first and last entry of a range, with one before and after it if there are such, and the last of the chain. If a
 * time stamp covers a later entry, those up to that one: it proves the range by the chain in between.
 */
export interface EntryNumbers {
  readonly first: number;
  readonly last: number;
  /** 0 if the chain is empty. */
  readonly head: number;
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
  const [head] = await sql<HeadRow[]>`
    select ${sql.unsafe(HEAD_COLUMNS)} from audit_heads where tenant_id = ${tenantId}`;
  const [sum] = await sql<{ rows: number; now: Date }[]>`
    select coalesce(sum(row_count), 0)::bigint as rows, now() as now
    from audit_seals where tenant_id = ${tenantId} and kind = 'minute'`;
  const setBacks = await sql<SealRow[]>`
    select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals
    where tenant_id = ${tenantId} and kind = 'set_back' order by number`;
  const [closing] = await sql<{ until: Date | null }[]>`
    select audit_closed_until as until from tenants where tenant_id = ${tenantId} and audit_set_back_to is null`;
  const owned = stack.move();
  return {
    head,
    setBacks,
    sealedRows: sum?.rows ?? 0,
    takenAt: sum?.now ?? new Date(0),
    closedUntil: closing?.until ?? undefined,
    seals: (numbers = { first: 0, last: Number.MAX_SAFE_INTEGER }) => sealPages(sql, tenantId, numbers),
    rows: (group, from) => rowPages(sql, tenantId, group, from),
    async countRows({ since, until }) {
      const [count] = await sql<{ n: number }[]>`
        select count(*) as n from audit_logs
        where tenant_id = ${tenantId} and created_at >= ${since} and created_at < ${until}`;
      return count?.n ?? 0;
    },
    rightsRows: () => rightsRows(sql, tenantId),
    anchors: ({ first, last }) => sql<AnchorRow[]>`
      select number, stamp_id, proof from audit_anchors
      where tenant_id = ${tenantId} and number >= ${first} and number <= ${last} order by number`,
    numbersOf: (range) => readNumbers(sql, tenantId, range),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function* sealPages(
  sql: Sql,
  tenantId: TenantId,
  { first, last }: Pick<EntryNumbers, "first" | "last">,
): AsyncGenerator<readonly SealRow[]> {
  let page: readonly SealRow[] = [];
  let after = first - 1;
  do {
    page = await sql<SealRow[]>`
      select ${sql.unsafe(SEAL_COLUMNS)} from audit_seals
      where tenant_id = ${tenantId} and number > ${after} and number <= ${last}
      order by number limit ${PAGE}`;
    after = page.at(-1)?.number ?? after;
    yield page;
  } while (page.length === PAGE);
}

async function* rowPages(
  sql: Sql,
  tenantId: TenantId,
  group: SealedGroup,
  from: Date | undefined,
): AsyncGenerator<readonly RawLogRow[]> {
  let page: readonly RawLogRow[] = [];
  do {
    const range = { group, from, until: undefined, after: page.at(-1), limit: PAGE };
    const { text, values } = rawLogText(tenantId, range);
    page = await sql.unsafe<RawLogRow[]>(text, values);
    yield page;
  } while (page.length === PAGE);
}

async function readNumbers(
  sql: Sql,
  tenantId: TenantId,
  { since, until }: { readonly since: Date; readonly until: Date },
): Promise<EntryNumbers> {
  const [found] = await sql<
    { first: number | null; last: number | null; before: number | null; head: number | null }[]
  >`
    select min(number) filter (where kind = 'minute' and window_start >= ${since} and window_start < ${until}) as first,
      max(number) filter (where kind = 'minute' and window_start >= ${since} and window_start < ${until}) as last,
      max(number) filter (where window_start < ${since}) as before, max(number) as head
    from audit_seals where tenant_id = ${tenantId}`;
  const head = found?.head ?? 0;
  const before = found?.before ?? 0;
  const first = Math.max((found?.first ?? before + 1) - 1, Math.min(1, head));
  const lastOwn = found?.last ?? before;
  const [anchored] = await sql<{ number: number }[]>`
    select number from audit_anchors where tenant_id = ${tenantId} and number >= ${Math.max(lastOwn, 1)} and number <= ${head}
    order by number limit 1`;
  return { first, last: Math.max(Math.min(lastOwn + 1, head), anchored?.number ?? 0), head };
}
