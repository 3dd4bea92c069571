import type { RequestMemory } from "../memory/memory-lease.js";

/** What is known of a request before its body is read. */
export interface RequestHead {
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  readonly traceId: string;
  readonly signal: AbortSignal;
  /** Memory for the bodies of the request. */
  readonly memory: RequestMemory;
}
