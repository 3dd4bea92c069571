import { Fault, type FaultCode, type FaultOptions, Reason } from "../base/fault.js";

export const BODY_REFUSALS = [
  /** The caller's share is in use. */
  "no_memory",
  /** The same, for as long as a request may wait. */
  "waited_too_long",
  /** The body did not arrive fast enough. */
  "too_slow",
  "too_large",
  /** The body has too many values, names or levels. */
  "structure",
] as const;

export type BodyRefusal = (typeof BODY_REFUSALS)[number];

export class BodyFault extends Fault {
  readonly refusal: BodyRefusal;

  constructor(refusal: BodyRefusal, code: FaultCode, detail: string, options: FaultOptions = {}) {
    super(code, detail, options);
    this.refusal = refusal;
  }
}

/** The caller's share of the memory for bodies is in use. */
export function memoryRefused(refusal: "no_memory" | "waited_too_long"): BodyFault {
  return new BodyFault(
    refusal,
    "unavailable",
    "Your share of the memory for request bodies is in use. Try again shortly.",
    {
      retryAfter: 1,
      cause: new Reason(`the memory for bodies is in use: ${refusal}`),
    },
  );
}
