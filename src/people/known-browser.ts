import { createHash } from "node:crypto";
import { randomText } from "../access/secret-text.js";
import type { ServedTenant } from "../audit/tenant-database.js";
import type { OrdinaryTenantTransaction } from "../audit/tenant-transaction.js";
import { DAY_MS } from "../base/clock.js";
import { compactUuid, expandUuid } from "../base/compact-uuid.js";
import type { Uuid } from "../base/ids.js";
import { macEquals, truncatedMac } from "../crypto/keyed-hash.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import {
  BROWSER_SLOTS,
  type BrowserSlot,
  isKnownBrowser,
  listBrowserSlots,
  takeBrowserSlot,
} from "../store/people/known-browsers.js";
import { emailTerm } from "../tenancy/profile.js";

/*
 * The cookie of a browser in which a member has signed in: `kbr_<tenant>_<browser>_<address>_<mac>`. It proves nothing
 * about who uses the browser, and gives one thing: requests to sign in with this address that others cannot use up. Each
 * cookie has a number of them, so a member has at most ten cookies, and gets at most ten new ones in a day.
 */

const KNOWN_DAYS = 180;
/** How long a browser is known after a sign-in. */
export const KNOWN_SECONDS = (KNOWN_DAYS * DAY_MS) / 1_000;

/** Another browser takes the place of one only so long after. */
const KEPT_MS = DAY_MS;

const FORM = /^kbr_([0-9A-Za-z]{22})_([0-9A-Za-z]{43})_([0-9a-f]{32})_([0-9a-f]{32})$/;

export interface RememberedMember {
  readonly memberId: Uuid;
  readonly email: string;
}

/**
 * Remembers the browser of a member. Returns its new cookie; undefined if it needs none, or if the member has ten browsers
 * that are not a day old. A browser has one cookie at a time: with that of another member or tenant it keeps its place here.
 */
export async function rememberBrowser(
  tx: OrdinaryTenantTransaction,
  { memberId, email }: RememberedMember,
  cookie: string | undefined,
): Promise<Sensitive<string> | undefined> {
  const browser = FORM.exec(cookie ?? "")?.[2] ?? randomText();
  const browser_hash = hashOfBrowser(browser);
  const taken = await tx.query(listBrowserSlots, memberId);
  const own = taken.find((one) => one.browser_hash.equals(browser_hash));
  if (own && own.created_at > knownSince(tx.now)) {
    return readCookie(tx.keys, cookie, email) ? undefined : newCookie(tx.keys, browser, email);
  }
  const replacing = new Date(tx.now.getTime() - KEPT_MS);
  const slot = own?.slot ?? freeSlot(taken, replacing);
  if (slot === undefined) return undefined;
  const hasTaken = await tx.query(takeBrowserSlot, { member_id: memberId, slot, browser_hash, replacing });
  return hasTaken ? newCookie(tx.keys, browser, email) : undefined;
}

function newCookie(keys: TenantKeys, browser: string, email: string): Sensitive<string> {
  const address = emailTerm(keys, email).toString("hex");
  const mac = macOf(keys, browser, address).toString("hex");
  return new Sensitive(`kbr_${compactUuid(keys.tenantId)}_${browser}_${address}_${mac}`);
}

/** An empty slot, or that of the oldest browser if it may be replaced. */
function freeSlot(taken: readonly BrowserSlot[], replacing: Date): number | undefined {
  const slots = new Set(taken.map(({ slot }) => slot));
  const empty = Array.from({ length: BROWSER_SLOTS }, (_, slot) => slot).find((slot) => !slots.has(slot));
  const [oldest] = taken;
  return empty ?? (oldest && oldest.created_at <= replacing ? oldest.slot : undefined);
}

/**
 * What names a known browser of a member, whose requests are counted by it; undefined for every other cookie. Only cookies
 * that a server made are looked up.
 * @param email the address of the member who signed in; undefined: of any member.
 */
export async function findKnownBrowser(
  tenant: ServedTenant,
  cookie: string | undefined,
  email?: string,
): Promise<string | undefined> {
  const read = readCookie(tenant.keys, cookie, email);
  if (read === undefined) return undefined;
  const hash = hashOfBrowser(read.browser);
  const isKnown = await tenant.shared((tx) => tx.query(isKnownBrowser, { hash, since: knownSince(tx.now) }));
  return isKnown ? read.mac : undefined;
}

function knownSince(now: Date): Date {
  return new Date(now.getTime() - KNOWN_DAYS * DAY_MS);
}

function readCookie(keys: TenantKeys, cookie: string | undefined, email: string | undefined) {
  const [, tenant = "", browser = "", address = "", mac = ""] = FORM.exec(cookie ?? "") ?? [];
  if (expandUuid(tenant) !== keys.tenantId) return undefined;
  if (!macEquals(macOf(keys, browser, address), Buffer.from(mac, "hex"))) return undefined;
  if (email !== undefined && emailTerm(keys, email).toString("hex") !== address) return undefined;
  return { browser, mac };
}

function hashOfBrowser(browser: string): Buffer {
  return createHash("sha256").update(browser).digest();
}

function macOf({ proof, tenantId }: TenantKeys, browser: string, address: string): Buffer {
  return truncatedMac(proof, ["cloakroom/known-browser/1", tenantId, browser, address]);
}
