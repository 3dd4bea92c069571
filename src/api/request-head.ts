/** What is known of a request before its body is read. */
export interface RequestHead {
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  readonly traceId: string;
  readonly signal: AbortSignal;
  /** Makes room for so many bytes that are kept until the answer. @throws {Fault} unavailable where there is none. */
  hold(bytes: number): void;
}
