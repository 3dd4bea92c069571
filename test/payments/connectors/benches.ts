import { adyenBench } from "./adyen-bench.js";
import { authorizenetBench } from "./authorizenet-bench.js";
import type { Bench } from "./bench.js";
import { checkoutBench } from "./checkout-bench.js";
import { stripeBench } from "./stripe-bench.js";

/** Every connector, with its stand-in. */
export const BENCHES: readonly (readonly [name: string, open: () => Promise<Bench>])[] = [
  ["stripe-card", stripeBench],
  ["adyen-card", adyenBench],
  ["checkoutcom-card", checkoutBench],
  ["authorizenet-card", authorizenetBench],
];
