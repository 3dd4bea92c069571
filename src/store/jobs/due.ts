import { MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { Sql } from "../postgres/connect.js";
import { boundWrite } from "../statements/bound-statement.js";
import { text, time } from "../statements/parameter.js";
import { defineChange } from "../statements/row-statements.js";
import type { Transaction } from "../transactions/transaction.js";

const SWEPT_KINDS = [
  "token",
  "cvc",
  "session",
  "idempotency_key",
  "reactor_result",
  "failed_run",
  "invitation",
  "three_ds_session",
  "sign_in",
  "sign_in_request",
  "webhook_event",
] as const;
export type SweptKind = (typeof SWEPT_KINDS)[number];

/**
 * Reactor runs, messages to send, credentials checks, payments to reconcile, keys to replace, and
 * events to send.
 */
const STARTED_KINDS = [
  "reactor_run",
  "mail",
  "connection_check",
  "payment",
  "key_rotation",
  "webhook_delivery",
] as const;
export type StartedKind = (typeof STARTED_KINDS)[number];

/** Kinds of work on the log: minutes to seal, and days whose rows may have expired. */
const LOG_KINDS = ["log_seal", "log_retention"] as const;
export type LogDueKind = (typeof LOG_KINDS)[number];

/** Sealed minutes to send to a sink, by the sink's name. */
const SINK_KINDS = ["log_file", "log_syslog", "log_otlp"] as const;
export type SinkDueKind = (typeof SINK_KINDS)[number];

/** Days whose last seals are to be stamped by a time-stamp authority. */
export type StampDueKind = "log_stamp";

/**
 * The kinds of work that servers always do: swept rows, work to start, the log. Minutes for a sink or an authority stay
 * when it is removed from the settings.
 */
export const DUE_KINDS = [...SWEPT_KINDS, ...STARTED_KINDS, ...LOG_KINDS] as const;
const ALL_KINDS = [...DUE_KINDS, ...SINK_KINDS, "log_stamp", "tenant"] as const;
export type DueKind = (typeof ALL_KINDS)[number];

export interface Due {
  readonly kind: DueKind;
  readonly at: Date;
}

const NOTE_DUE = boundWrite<Due>({
  table: "due",
  isAtCommit: true,
  sql: "insert into due (tenant_id, kind, due_at) values {(:tenant, :kind, :at)} on conflict do nothing",
  parameters: { kind: text(({ kind }) => kind), at: time(({ at }) => at) },
  sortKey: ({ kind, at }) => `${kind} ${at.getTime()}`,
  combine(dues) {
    const distinct = new Map<string, Due>();
    for (const { kind, at } of dues) {
      const minute = Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS;
      distinct.set(`${kind} ${minute}`, { kind, at: new Date(minute) });
    }
    return [...distinct.values()];
  },
});

/** Notes that this tenant has work in a minute: one row per tenant, kind and minute. */
export function scheduleDue(tx: Transaction, due: Due): void {
  tx.enqueue(NOTE_DUE, due);
}

export interface DueMinute<Kind extends DueKind = DueKind> {
  readonly tenantId: TenantId;
  readonly kind: Kind;
  readonly minute: Date;
}

/** Replicas share work on tenants by shards: the last byte of a tenant's id, which is random, modulo this number. */
export const TENANT_SHARDS = 16;

export interface DueRange {
  readonly now: Date;
  readonly after?: DueMinute | undefined;
  /** Tenants of these shards alone. Absent: of all. */
  readonly shards?: readonly number[];
}

/** Minutes of one page. */
const PAGE = 1_000;

/**
 * The minutes of some kinds that have begun, oldest first, a thousand at a time. The only query across tenants. Each kind
 * is read by itself, so none is delayed by the minutes of another one.
 */
export async function listDue<Kind extends DueKind>(
  sql: Sql,
  kinds: readonly Kind[],
  { now, after, shards }: DueRange,
): Promise<readonly DueMinute<Kind>[]> {
  const ofKinds = await Promise.all(
    kinds.map(
      (kind) => sql<DueMinute<Kind>[]>`
        select tenant_id as "tenantId", kind, due_at as minute from due
        where kind = ${kind} and due_at <= ${now}
          ${shards ? sql`and get_byte(uuid_send(tenant_id), 15) % ${TENANT_SHARDS}::int = any(${shards.map(String)}::text[]::int[])` : sql``}
          ${after ? sql`and (due_at, tenant_id, kind) > (${after.minute}, ${after.tenantId}, ${after.kind})` : sql``}
        order by due_at, tenant_id limit ${PAGE}`,
    ),
  );
  const [only] = ofKinds;
  return only && kinds.length === 1 ? only : ofKinds.flat().sort(inOrder).slice(0, PAGE);
}

/** As the database compares them: ids and kinds by their bytes. */
function inOrder(one: DueMinute, other: DueMinute): number {
  const between = one.minute.getTime() - other.minute.getTime();
  if (between !== 0) return between;
  if (one.tenantId !== other.tenantId) return one.tenantId < other.tenantId ? -1 : 1;
  return one.kind < other.kind ? -1 : 1;
}

/**
 * Deletes a due minute once it is over and swept, because until then its rows may still become due. Waits one minute
 * more for clock differences and transactions in flight: a transaction that found the minute noted has not written the
 * note itself.
 */
export const deleteDueMinute = defineChange<Pick<DueMinute, "kind" | "minute">>(
  "due",
  (sql, tenantId, { kind, minute }, at) => sql`
    delete from due
    where tenant_id = ${tenantId} and kind = ${kind} and due_at = ${minute}
      and due_at <= ${new Date(at.getTime() - 2 * MINUTE_MS)}`,
  ({ kind, minute }) => `${kind} ${minute.getTime()}`,
);

/**
 * The earliest noted minute of each kind that has come, over all tenants. Omits kinds without any. Minutes to come are
 * not read: a year of tokens that expire are half a million of them for each tenant.
 */
export async function listOldestDue(sql: Sql): Promise<ReadonlyMap<DueKind, Date>> {
  const found = await Promise.all(
    ALL_KINDS.map(async (kind): Promise<[DueKind, Date][]> => {
      const [row] = await sql<{ oldest: Date | null }[]>`
        select min(due_at) as oldest from due where kind = ${kind} and due_at <= now()`;
      return row?.oldest ? [[kind, row.oldest]] : [];
    }),
  );
  return new Map(found.flat());
}

/** Deletes all due minutes of a deleted tenant, except the one for its removal. */
export const deleteAllDue = defineChange<"all">(
  "due",
  (sql, tenantId) => sql`delete from due where tenant_id = ${tenantId} and kind <> 'tenant'`,
);
