import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startBenchServer } from "../bench-server.js";
import { measureDatabaseFloors } from "../database-floors.js";
import { measureEcho } from "../floors.js";
import { type Measurement, measure, type Plan, type Target } from "../measure.js";
import { say, Table } from "../table.js";
import { createCard, getToken, makeApplication, makeCards } from "../token-requests.js";
import { CARD_VAULT } from "./card-vault.js";
import { OPENBAO } from "./openbao.js";
import type { Peer, RunningPeer } from "./peer.js";

const PEERS: readonly Peer[] = [CARD_VAULT, OPENBAO];
const CALLERS = [1, 8, 32, 128];

export interface PeerOptions {
  readonly rounds: number;
  /** Milliseconds of each measurement. */
  readonly duration: number;
}

interface Side extends Pick<RunningPeer, "target" | "create" | "read"> {
  readonly name: string;
}

/**
 * Measures creates and reads of this server and of the peers whose programs are in a directory, in turns, beside what
 * limits them: a bare echo, and single rows of the database. Prints a table.
 * @throws Error if the directory has none of the programs.
 */
export async function compareWithPeers(
  directory: string,
  { rounds, duration }: PeerOptions,
): Promise<readonly Measurement[]> {
  const found = PEERS.filter(({ program }) => existsSync(join(directory, program)));
  if (found.length === 0) {
    throw new Error(`${directory} has none of the programs ${PEERS.map(({ program }) => program).join(", ")}`);
  }
  for (const { name, program } of PEERS.filter((peer) => !found.includes(peer))) {
    say(`${name} is not measured: ${directory} has no program ${program}`);
  }
  const table = new Table();
  table.add(await measureEcho());
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startBenchServer());
  await measureDatabaseFloors(table, server);
  const key = await makeApplication(server, server.managementKey);
  const [id = ""] = await makeCards(server, key, 1);
  const sides: Side[] = [
    {
      name: "cloakroom",
      target: server,
      create: { expect: 201, request: () => createCard(key) },
      read: { expect: 200, request: () => getToken(key, id) },
    },
  ];
  for (const peer of found) {
    const files = mkdtempSync(join(tmpdir(), "cloakroom-peer-"));
    stack.defer(() => rmSync(files, { recursive: true, force: true }));
    const running = stack.use(await peer.start(resolve(directory, peer.program), files));
    sides.push({ ...running, name: peer.name });
  }
  for (const operation of ["create", "read"] as const) {
    for (const connections of CALLERS) {
      for (const measured of await inTurns(sides, operation, { rounds, duration, connections })) table.add(measured);
    }
  }
  return table.rows;
}

/** The middle round of each side, by requests per second. */
async function inTurns(
  sides: readonly Side[],
  operation: "create" | "read",
  { rounds, duration, connections }: PeerOptions & { readonly connections: number },
): Promise<Measurement[]> {
  const measured = new Map<Side, Measurement[]>(sides.map((side) => [side, []]));
  // Each create of a side is another card.
  const sent = new Map<Side, number>(sides.map((side) => [side, connections * 1_000_000]));
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const plan = planOf(side, operation, connections, () => {
        const n = sent.get(side) ?? 0;
        sent.set(side, n + 1);
        return n;
      });
      measured.get(side)?.push(await measure(targetOf(side), { ...plan, warmUp: Math.min(500, duration), duration }));
    }
  }
  return [...measured.values()].flatMap(
    (runs) => runs.toSorted((a, b) => a.requestsPerSecond - b.requestsPerSecond)[runs.length >> 1] ?? [],
  );
}

function targetOf({ target: { host, port, pid, databasePid } }: Side): Target {
  return databasePid === undefined ? { host, port, pid } : { host, port, pid, databasePid };
}

function planOf(side: Side, operation: "create" | "read", connections: number, next: () => number): Plan {
  const { expect, request } = side[operation];
  return {
    operation: `${side.name}: ${operation}, ${connections} ${connections === 1 ? "caller" : "callers"}`,
    protocol: "http1",
    ...{ connections, expect },
    request: () => request(next()),
  };
}
