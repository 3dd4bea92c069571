/** Milliseconds of each unit of grpc-timeout. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 };

/**
 * Lowers the deadline of a call to our limit. Connect would refuse a longer one, but a longer deadline is not an error,
 * and 60 seconds is the default of published clients.
 */
export function shortenDeadline(header: Headers, maxMs: number): void {
  const connect = header.get("connect-timeout-ms");
  if (connect !== null && /^\d{1,10}$/.test(connect) && Number(connect) > maxMs) {
    header.set("connect-timeout-ms", String(maxMs));
  }
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(header.get("grpc-timeout") ?? "") ?? [];
  if (amount !== undefined && Number(amount) * (UNITS[unit] ?? 0) > maxMs) header.set("grpc-timeout", `${maxMs}m`);
}
