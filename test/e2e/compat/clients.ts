import { BasisTheory as LegacyClient } from "@basis-theory/basis-theory-js";
import { BasisTheoryClient } from "@basis-theory/node-sdk";
import { inject } from "vitest";

/** The newer published client, as its users create it, but without retries, to see refusals at once. */
export function newerClient(apiKey: string, url: string = inject("serverUrl")): BasisTheoryClient {
  return new BasisTheoryClient({ baseUrl: url, apiKey, maxRetries: 0 });
}

/** The older published client. It uses plain http for `localhost` only. */
export function olderClient(apiKey: string, url: string = inject("serverUrl")) {
  const apiBaseUrl = `http://localhost:${new URL(url).port}`;
  return new LegacyClient().init(apiKey, { apiBaseUrl, disableTelemetry: true });
}

/** Waits for a call to fail, and returns what the client throws. */
export function thrownBy(call: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(call).then(
    () => {
      throw new Error("the call was served");
    },
    (error: unknown) => error,
  );
}

export const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" };
export const MASKED = { number: "XXXXXXXXXXXX4242", expiration_month: 12, expiration_year: 2030 };
