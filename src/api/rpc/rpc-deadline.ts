/** Milliseconds in each unit of grpc-timeout. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** The milliseconds in a `grpc-timeout` header; undefined if it is invalid. */
export function grpcTimeoutMs(header: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
  return amount === undefined ? undefined : Number(amount) * (UNITS[unit] ?? 0);
}

/** The milliseconds in a `connect-timeout-ms` header; undefined if it is invalid. */
export function connectTimeoutMs(header: string): number | undefined {
  return /^\d{1,10}$/.test(header) ? Number(header) : undefined;
}

/**
 * Lowers the deadline in the headers of a call that Connect's handlers serve. They would refuse one longer than `maxMs`,
 * although published clients send 60 seconds by default. The fast path lowers the deadlines of its calls itself.
 */
export function shortenDeadline(header: Headers, maxMs: number): void {
  if ((connectTimeoutMs(header.get("connect-timeout-ms") ?? "") ?? 0) > maxMs) {
    header.set("connect-timeout-ms", String(maxMs));
  }
  if ((grpcTimeoutMs(header.get("grpc-timeout") ?? "") ?? 0) > maxMs) header.set("grpc-timeout", `${maxMs}m`);
}
