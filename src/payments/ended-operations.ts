import type { Payment } from "./payment.js";

/** A payment has a few captures and voids at most; a service repeats itself about the latest. */
const MOST = 8;

/** Remembers what the payment service calls operations that are not under way (any more). */
export function withEnded(payment: Payment, ...ids: readonly (string | undefined)[]): Payment {
  const known = payment.endedIds ?? [];
  const added = [...new Set(ids)].flatMap((id) => (id === undefined || known.includes(id) ? [] : [id]));
  return added.length > 0 ? { ...payment, endedIds: [...known, ...added].slice(-MOST) } : payment;
}

/** A payment after a step. An operation that was under way before it, and is not any more, has ended by it. */
export function withEndedSince(before: Payment, after: Payment): Payment {
  const { attempt } = before;
  return attempt === undefined || attempt.key === after.attempt?.key ? after : withEnded(after, attempt.providerId);
}

/**
 * Whether a capture or void of this name, of which the payment service said something, can be the one under way: not one
 * that has ended before, whose end it repeats, and not one that has another name.
 */
export function mayBeUnderWay({ attempt, endedIds = [] }: Payment, providerId: string | undefined): boolean {
  if (attempt === undefined) return false;
  if (providerId === undefined) return true;
  return attempt.providerId === undefined ? !endedIds.includes(providerId) : attempt.providerId === providerId;
}
