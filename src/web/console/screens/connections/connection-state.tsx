import type { Connection } from "#client/proto/cloakroom/v1/connections_pb.js";

/** Whether payments can go through a connection: its credentials are checked, and nobody has switched it off. */
export function ConnectionState({ connection: { status, active } }: { connection: Connection }) {
  if (!active) return <span className="pill">switched off</span>;
  return <span className={STATES.get(status) ?? "pill"}>{status}</span>;
}

const STATES: ReadonlyMap<string, string> = new Map([
  ["available", "pill good"],
  ["failed", "pill bad"],
]);
