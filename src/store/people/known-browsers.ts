import type { Uuid } from "../../base/ids.js";
import { defineChange, defineHasRow, defineHasWritten, defineRows } from "../statements/row-statements.js";

/** The table has no other slots: a constraint bounds the browsers of a member, also if several are remembered at once. */
export const BROWSER_SLOTS = 10;

export interface BrowserSlot {
  readonly slot: number;
  readonly browser_hash: Buffer;
  readonly created_at: Date;
}

/** The slots that a member's browsers take, the oldest first. */
export const listBrowserSlots = defineRows<Uuid, BrowserSlot>(
  "known_browsers",
  (sql, tenantId, memberId) => sql`
    select slot, browser_hash, created_at from known_browsers
    where tenant_id = ${tenantId} and member_id = ${memberId} order by created_at, slot`,
);

export interface TakenSlot {
  readonly member_id: Uuid;
  readonly slot: number;
  readonly browser_hash: Buffer;
  /** Replaces the slot's browser only if it was remembered by then. */
  readonly replacing: Date;
}

/** Puts a browser into a slot. Returns whether it is there: another one may have taken the slot meanwhile. */
export const takeBrowserSlot = defineHasWritten<TakenSlot>(
  "known_browsers",
  (sql, tenantId, { replacing, ...row }, at) => sql`
    insert into known_browsers ${sql({ tenant_id: tenantId, created_at: at, ...row })}
    on conflict (tenant_id, member_id, slot)
    do update set browser_hash = excluded.browser_hash, created_at = excluded.created_at
    where known_browsers.created_at <= ${replacing}
    returning 1`,
);

export interface PresentedBrowser {
  readonly hash: Buffer;
  readonly since: Date;
}

/** Whether a browser was remembered since then, and no other one has replaced it. */
export const isKnownBrowser = defineHasRow<PresentedBrowser>(
  "known_browsers",
  (sql, tenantId, { hash, since }) => sql`
    select 1 from known_browsers
    where tenant_id = ${tenantId} and browser_hash = ${hash} and created_at > ${since}`,
);

export const deleteMemberBrowsers = defineChange<Uuid>(
  "known_browsers",
  (sql, tenantId, memberId) =>
    sql`delete from known_browsers where tenant_id = ${tenantId} and member_id = ${memberId}`,
);
