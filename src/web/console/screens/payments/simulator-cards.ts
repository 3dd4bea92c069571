/** The simulator's formula among those of connections. */
export const SIMULATOR = "simulator-card";

/** Cards to which the simulator reacts, as docs/payments.md lists them. */
export const CARDS: readonly (readonly [number: string, effect: string])[] = [
  ["4242424242424242", "approved"],
  ["4000000000000002", "declined: issuer_decline"],
  ["4000000000009995", "declined: insufficient_funds"],
  ["4000000000000119", "fails: service_error"],
  ["4000000000000341", "approved, and the capture is refused"],
  ["4000000000003220", "the cardholder must approve"],
  ["4000008400001629", "the cardholder must approve, and is declined all the same"],
  ["4000000000003055", "approved, authenticated without a challenge"],
];

/** Amounts in minor units to which the simulator reacts, as docs/payments.md lists them. */
export const AMOUNTS: readonly (readonly [amount: string, effect: string])[] = [
  ["600001", "approved, and the response is lost"],
  ["600002", "the request is lost, and succeeds when it is sent again"],
  ["600006", "half of it is approved"],
  ["600007", "the capture or void takes two seconds"],
  ["600009", "approved, and reported twice"],
];
