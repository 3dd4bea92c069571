import type { RequestMemory } from "../memory/memory-lease.js";

/** What is known of a request before its body is read. */
export interface RequestHead {
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  readonly traceId: string;
  readonly signal: AbortSignal;
  /** What the request may use of the memory for bodies. */
  readonly memory: RequestMemory;
}
