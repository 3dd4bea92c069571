import type { SignInAttempt, SignInLimits } from "../rate-limits/sign-in-limits.js";
import type { ToProcess } from "./messages.js";

/**
 * Limits of sign-ins that the primary process keeps for all. The wait for a response has no time limit: when the primary
 * ends, so does this process.
 */
export class PrimarySignInLimits implements SignInLimits {
  readonly #send: (number: number, attempt: SignInAttempt) => void;
  readonly #waiting = new Map<number, (isAllowed: boolean) => void>();
  #attempts = 0;

  constructor(send: (number: number, attempt: SignInAttempt) => void) {
    this.#send = send;
  }

  allows(attempt: SignInAttempt): Promise<boolean> {
    this.#attempts += 1;
    const number = this.#attempts;
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve);
      this.#send(number, attempt);
    });
  }

  take({ number, isAllowed }: Extract<ToProcess, { type: "attempt_counted" }>): void {
    this.#waiting.get(number)?.(isAllowed);
    this.#waiting.delete(number);
  }
}
