import { HOUR_MS } from "../base/clock.js";
import { Fault } from "../base/fault.js";
import { VAULT_TENANT_ID } from "../base/ids.js";
import { truncatedMac } from "../crypto/keyed-hash.js";
import { countMail, dropMailCounts } from "../store/people/mail-counts.js";
import type { Transaction } from "../store/transactions/transaction.js";
import type { Tenants } from "./tenants.js";

/** Invitations that a tenant sends, first or again. */
const OF_TENANT = { counted: Buffer.alloc(0), inHour: 50, inDay: 200 };
/**
 * Invitations to one address, of all tenants together. Links to sign in and messages about passkeys are not counted: only
 * members get them, and others must not keep them back.
 */
const TO_ADDRESS = { inHour: 5, inDay: 10 };

/** Counts an invitation of a tenant. @throws {Fault} rate_limited for one too many; changes nothing. */
export async function countInvitation(tx: Transaction): Promise<void> {
  if (await isCounted(tx, OF_TENANT)) return;
  const { inHour, inDay } = OF_TENANT;
  throw new Fault(
    "rate_limited",
    `A tenant can send ${inHour} invitations an hour and ${inDay} in 24 hours, first or again. Try again later.`,
    { retryAfter: Math.ceil((nextHour(tx.now).getTime() - tx.now.getTime()) / 1_000) },
  );
}

/**
 * Counts an invitation to an address, of whatever tenant. Refusing the invitation instead would tell a tenant who else
 * invites the address.
 * @returns undefined, or when to try again.
 */
export async function countInvitationTo(tenants: Tenants, email: string): Promise<Date | undefined> {
  const vault = await tenants.of(VAULT_TENANT_ID);
  const counted = truncatedMac(vault.keys.proof, ["cloakroom/mail-to/1", email.toLowerCase()]);
  return vault.ordinary(async (tx) =>
    (await isCounted(tx, { ...TO_ADDRESS, counted })) ? undefined : nextHour(tx.now),
  );
}

interface Cap {
  /** What is counted: an address, or nothing for the tenant itself. */
  readonly counted: Buffer;
  readonly inHour: number;
  readonly inDay: number;
}

async function isCounted(tx: Transaction, cap: Cap): Promise<boolean> {
  const hour = new Date(nextHour(tx.now).getTime() - HOUR_MS);
  const since = new Date(hour.getTime() - 23 * HOUR_MS);
  tx.enqueue(dropMailCounts, since);
  return tx.query(countMail, { ...cap, hour, since });
}

function nextHour(now: Date): Date {
  return new Date((Math.floor(now.getTime() / HOUR_MS) + 1) * HOUR_MS);
}
