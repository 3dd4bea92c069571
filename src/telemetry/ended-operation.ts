import type { BodyRefusal } from "../memory/body-fault.js";

/** A caller's span by its headers (W3C Trace Context), as they came. */
export interface ParentSpan {
  readonly traceparent: string;
  readonly tracestate: string | undefined;
}

/** An operation that has ended, over whatever protocol. */
export interface EndedOperation {
  readonly rpc: string;
  /** The path template; absent over RPC protocols. */
  readonly route: string | undefined;
  /** `ok`, or the code of the fault. */
  readonly code: string;
  /** Why its body was not taken, where that is how it ended. */
  readonly bodyRefusal?: BodyRefusal | undefined;
  readonly seconds: number;
  /** The caller's span that it is a part of. */
  readonly parent: ParentSpan | undefined;
}
