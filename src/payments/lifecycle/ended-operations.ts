import type { Payment } from "./payment.js";

/** A payment has few captures and voids, and a service repeats only reports of the latest. */
const MAX_ENDED_IDS = 8;

/** Remembers the service's ids of operations that are not, or no longer, under way. */
export function rememberEnded(payment: Payment, ...ids: readonly (string | undefined)[]): Payment {
  const known = payment.endedIds ?? [];
  const added = [...new Set(ids)].flatMap((id) => (id === undefined || known.includes(id) ? [] : [id]));
  return added.length > 0 ? { ...payment, endedIds: [...known, ...added].slice(-MAX_ENDED_IDS) } : payment;
}

/** Remembers the operation that was under way before a step and no longer is. */
export function rememberEndedAttempt(before: Payment, after: Payment): Payment {
  const { attempt } = before;
  return attempt === undefined || attempt.key === after.attempt?.key ? after : rememberEnded(after, attempt.providerId);
}

/**
 * Whether a report about a capture or void with this id can belong to the one under way. A report about an earlier
 * operation that has ended, or with another id, cannot.
 */
export function matchesPendingOperation({ attempt, endedIds = [] }: Payment, providerId: string | undefined): boolean {
  if (attempt === undefined) return false;
  if (providerId === undefined) return true;
  return attempt.providerId === undefined ? !endedIds.includes(providerId) : attempt.providerId === providerId;
}
