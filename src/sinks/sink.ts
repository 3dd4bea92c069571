export const SINKS = ["file", "syslog", "otlp"] as const;
export type SinkName = (typeof SINKS)[number];

export const OUTCOMES = ["allowed", "denied", "failed"] as const;

export interface SinkRecord {
  /** The row's id, or that of the tenant and the number of the seal: the same if it is sent twice. */
  readonly id: string;
  /** ISO 8601 with six digits of a second. */
  readonly time: string;
  /** Such as `token.read`. */
  readonly name: string;
  readonly outcome: (typeof OUTCOMES)[number];
  readonly message: string;
  /** 32 hexadecimal digits. */
  readonly traceId: string | undefined;
  /** All fields, in the order of exports. */
  readonly fields: Readonly<Record<string, string | number | null>>;
}

export interface LogSink {
  readonly name: SinkName;
  /** How long a sent record may still be lost with its connection, in milliseconds. 0: sent is received. */
  readonly unsureForMs: number;
  /**
   * Sends records in order. Once it returns, the receiver has them, except for {@link unsureForMs}.
   * @param signal ends the wait for the receiver.
   * @throws {SinkFailed} if not all were sent. The same records will be sent again.
   */
  send(records: readonly SinkRecord[], signal: AbortSignal): Promise<void>;
  /**
   * Returns once the receiver has read all that was sent before the call.
   * @throws {SinkFailed} if it does not say so. What is unsure will be sent again.
   */
  confirm(signal: AbortSignal): Promise<void>;
  /** Whether a connection has ended since the last call, with what was unsure on it. */
  takeLost(): boolean;
  close(): Promise<void>;
}

/** A receiver does not take records. The reason consists of fixed words and codes. */
export class SinkFailed extends Error {
  override readonly name = "SinkFailed";
  /** How long the receiver asks to wait, in milliseconds. */
  readonly waitMs: number | undefined;

  constructor(reason: string, waitMs?: number) {
    super(reason);
    this.waitMs = waitMs;
  }
}

/** A failure of the system in fixed words. */
export function sinkFailure(doing: string, error: unknown): SinkFailed {
  if (error instanceof SinkFailed) return error;
  const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
  return new SinkFailed(`${doing}${code}`);
}
