import type { BodyRefusal } from "../memory/body-fault.js";

/** The headers that name a caller's span (W3C Trace Context), unparsed. */
export interface ParentSpan {
  readonly traceparent: string;
  readonly tracestate: string | undefined;
}

export interface EndedOperation {
  readonly rpc: string;
  /** The path template; absent over RPC protocols. */
  readonly route: string | undefined;
  /** `ok`, or the code of the fault. */
  readonly code: string;
  /** Why the body was refused, if it was. */
  readonly bodyRefusal?: BodyRefusal | undefined;
  readonly seconds: number;
  /** The caller's span, which is the parent. */
  readonly parent: ParentSpan | undefined;
}
