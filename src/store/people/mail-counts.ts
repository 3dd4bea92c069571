import { defineChange, defineHasWritten } from "../statements/row-statements.js";

export interface CountedMail {
  /** A keyed hash of an address; empty for the tenant itself. */
  readonly counted: Buffer;
  /** The beginning of the hour. */
  readonly hour: Date;
  /** The beginning of the first of 24 hours. */
  readonly since: Date;
  readonly inHour: number;
  readonly inDay: number;
}

/**
 * Counts a mail, unless it is one too many in its hour or in 24 hours. Returns whether it was counted. Citus inserts what
 * a select finds only if the select reads a table of the tenant: its keys are such rows, also of the vault itself.
 */
export const countMail = defineHasWritten<CountedMail>(
  "mail_counts",
  (sql, tenantId, { counted, hour, since, inHour, inDay }) => sql`
    insert into mail_counts (tenant_id, counted, hour, mails)
    select keyed.tenant_id, ${counted}::bytea, ${hour}::timestamptz, 1
    from (select distinct tenant_id from tenant_keys where tenant_id = ${tenantId}) keyed
    where (
      select coalesce(sum(mails), 0) from mail_counts
      where tenant_id = ${tenantId} and counted = ${counted} and hour >= ${since}
    ) < ${inDay}::int
    on conflict (tenant_id, counted, hour) do update set mails = mail_counts.mails + 1
    where mail_counts.mails < ${inHour}::int
    returning 1`,
);

/** Deletes counts that no limit needs any more. */
export const dropMailCounts = defineChange<Date>(
  "mail_counts",
  (sql, tenantId, since) => sql`delete from mail_counts where tenant_id = ${tenantId} and hour < ${since}`,
);
