import type { Status } from "../../../src/payments/lifecycle/transaction-states.js";

/** Only refunds of captured money can still follow. */
export function isSettled(status: Status): boolean {
  return (
    status === "authorization_failed" ||
    status === "authorization_declined" ||
    status === "authorization_voided" ||
    status === "capture_succeeded"
  );
}
