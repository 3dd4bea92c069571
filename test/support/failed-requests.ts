/** What the operator's log says of a request that failed on the server's side. */
const FAILED = /"rpc":"(?<rpc>\w+)".*"status":(?<status>5\d\d),.*?"cause":(?<cause>"(?:[^"\\]|\\.)*")/;

/**
 * The calls that a server answered with 5xx, from its log, such as `CreateToken 503 "database 57014", 2 times`. A test that
 * failed in a busy run shows only the response, and the log is deleted with its server.
 */
export function failedRequests(log: string): string[] {
  const counts = new Map<string, number>();
  for (const line of log.split("\n")) {
    const { rpc, status, cause } = FAILED.exec(line)?.groups ?? {};
    if (rpc === undefined) continue;
    const kind = `${rpc} ${status} ${cause}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => `${kind}, ${count} times`);
}
