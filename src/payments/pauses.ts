import type { Payment } from "./payment.js";

const HOUR_MS = 3_600_000;
/** Milliseconds until a payment service is asked again, by how often it was (orchestration.md 2.6). */
const DELAYS_MS = [5_000, 15_000, 60_000, 300_000, 1_800_000, 7_200_000, 43_200_000];
/** What was taken on is mostly done a moment later. */
const ACCEPTED_FIRST_MS = 2_000;
/** The shortest pause after which is asked again about something unclear that is not under way. */
const UNCLEAR_MS = 60_000;
/** How long a payment service is asked about a payment whose end is not known. */
export const GIVE_UP_MS = 24 * HOUR_MS;

/** Waits, and asks again after a while that grows. */
export function waitingFor(payment: Payment, state: "unknown" | "accepted", now: number): Payment {
  const { attempt } = payment;
  if (!attempt) return payment;
  const tries = attempt.state === "sent" ? 0 : attempt.tries + 1;
  const usual = DELAYS_MS[Math.min(tries, DELAYS_MS.length - 1)] ?? GIVE_UP_MS;
  const delay = state === "accepted" && tries === 0 ? ACCEPTED_FIRST_MS : usual;
  return { ...payment, attempt: { ...attempt, state, tries }, dueAt: new Date(now + delay) };
}

/** How long to wait with the next question about what has been unclear for so long, in milliseconds: half of that. */
export function pauseAfter(unclear: number): number {
  return Math.max(UNCLEAR_MS, unclear / 2);
}
