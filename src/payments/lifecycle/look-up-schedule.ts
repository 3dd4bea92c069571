import { DAY_MS } from "../../base/clock.js";
import type { Payment } from "./payment.js";

/** Milliseconds until the next look-up, by the number of earlier ones. */
const DELAYS_MS = [5_000, 15_000, 60_000, 300_000, 1_800_000, 7_200_000, 43_200_000];
/** An accepted request has usually finished a moment later. */
const ACCEPTED_FIRST_MS = 2_000;
/** The shortest pause before the next look-up of an unclear payment without an attempt under way. */
const UNCLEAR_MS = 60_000;
export const LOOK_UP_LIMIT_MS = DAY_MS;

export function scheduleLookUp(payment: Payment, state: "unknown" | "accepted", now: number): Payment {
  const { attempt } = payment;
  if (!attempt) return payment;
  const tries = attempt.state === "sent" ? 0 : attempt.tries + 1;
  const usual = DELAYS_MS[Math.min(tries, DELAYS_MS.length - 1)] ?? LOOK_UP_LIMIT_MS;
  const delay = state === "accepted" && tries === 0 ? ACCEPTED_FIRST_MS : usual;
  return { ...payment, attempt: { ...attempt, state, tries }, dueAt: new Date(now + delay) };
}

/** Milliseconds until the next look-up of a payment that has been unclear for `unclear` ms: half of that. */
export function lookUpDelay(unclear: number): number {
  return Math.max(UNCLEAR_MS, unclear / 2);
}
