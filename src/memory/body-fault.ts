import { Fault, type FaultCode, type FaultOptions, Reason } from "../base/fault.js";

/** Why a body was not taken, as the metrics name it. */
export const BODY_REFUSALS = [
  /** The share of the caller is in use. */
  "no_memory",
  /** So it was, and stayed so for as long as a request waits. */
  "waited_too_long",
  /** The body did not arrive fast enough. */
  "too_slow",
  "too_large",
  /** It has too many values, names or levels. */
  "structure",
] as const;

export type BodyRefusal = (typeof BODY_REFUSALS)[number];

/** A body that is not taken, for a reason that is counted. */
export class BodyFault extends Fault {
  readonly refusal: BodyRefusal;

  constructor(refusal: BodyRefusal, code: FaultCode, detail: string, options: FaultOptions = {}) {
    super(code, detail, options);
    this.refusal = refusal;
  }
}

/** A share of the memory for bodies is in use. Others are served. */
export function noMemory(refusal: "no_memory" | "waited_too_long"): BodyFault {
  return new BodyFault(
    refusal,
    "unavailable",
    "Other bodies take up the memory that there is for you. Try again shortly.",
    {
      retryAfter: 1,
      cause: new Reason(`the memory for bodies is in use: ${refusal}`),
    },
  );
}
