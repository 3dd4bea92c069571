// The published libraries of payment services, for tests alone: they say what these services send and accept.
import { createRequire } from "node:module";

export { default as Checkout } from "checkout-sdk-node";
export { default as Stripe } from "stripe";

const require = createRequire(import.meta.url);

// CommonJS only, without named exports for ESM.
const adyen: typeof import("@adyen/api-library") = require("@adyen/api-library");
export const AdyenHmacValidator = adyen.hmacValidator;

/** Authorize.Net's classes are plain JavaScript without types. */
export type Contract = { [setter: string]: (value: unknown) => void } & {
  getJSON(): { readonly [key: string]: unknown };
};
const { APIContracts }: { APIContracts: Readonly<Record<string, new () => Contract>> } = require("authorizenet");

export { APIContracts };
