import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { PostgresCluster } from "../support/postgres-cluster.js";
import { type BenchServer, startBenchServer } from "./bench-server.js";
import { readOnlyNumber } from "./options.js";
import { setUp } from "./scale/big-database.js";
import { say } from "./table.js";
import { CARD_BODY, JSON_TYPE, makeApplication } from "./token-requests.js";

/**
 * Failovers under load, on two PostgreSQL of this machine: `npm run bench:failover -- 5`. Prints how long writes fail
 * (RTO), and how many acknowledged ones are gone (RPO).
 */
const ROUNDS = readOnlyNumber("ROUNDS", 5);
const CALLERS = 16;
const LOADED_MS = 2_000;
const SETTINGS = { fsync: "on", max_wal_senders: "4", wal_sender_timeout: "60s" };

/** `synchronous_standby_names` of each kind. */
const KINDS = { synchronous: "*", asynchronous: "" };

interface Round {
  readonly acknowledged: number;
  readonly lost: number;
  /** From the end of the primary to the first success of a write that was sent after it. */
  readonly downMs: number;
  /** From the end of the promotion to the same. */
  readonly afterPromotionMs: number;
}

async function failover(names: string): Promise<Round> {
  await using stack = new AsyncDisposableStack();
  const primary = stack.use(await PostgresCluster.start({ settings: SETTINGS, onDisk: true }));
  const url = await primary.login("vault", { attributes: "createrole" });
  const standby = stack.use(await primary.addStandby());
  const settings = {
    DATABASE_URL: url.replace(`127.0.0.1:${primary.port}`, `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`),
  };
  const dataDir = join(primary.directory, "vault");
  const managementKey = await setUp(settings, dataDir);
  await primary.waitForStandbys(names);
  const server = stack.use(
    await startBenchServer(settings, { postmaster: primary.postmaster, beside: { dataDir, managementKey } }),
  );
  const key = await makeApplication(server, managementKey);
  const load = new Writes(server, key);
  await pause(LOADED_MS);
  const killed = performance.now();
  await primary.killServer();
  await standby.promote();
  if (names !== "") await standby.waitForStandbys("");
  const promoted = performance.now();
  const again = await load.firstAfter(killed);
  await load.stop();
  return {
    acknowledged: load.acknowledged.length,
    lost: await load.countLost(),
    downMs: again - killed,
    afterPromotionMs: again - promoted,
  };
}

/** Callers that store cards, each one after the other, until they are stopped. */
class Writes {
  readonly acknowledged: { readonly id: string; readonly sent: number; readonly at: number }[] = [];
  readonly #server: BenchServer;
  readonly #key: string;
  readonly #running: Promise<unknown>;
  #isOver = false;

  constructor(server: BenchServer, key: string) {
    this.#server = server;
    this.#key = key;
    this.#running = Promise.all(Array.from({ length: CALLERS }, () => this.#write()));
  }

  async firstAfter(time: number): Promise<number> {
    for (;;) {
      const first = this.acknowledged.find(({ sent }) => sent > time);
      if (first) return first.at;
      await pause(5);
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async countLost(): Promise<number> {
    let lost = 0;
    for (const { id } of this.acknowledged) if (!(await this.#send("GET", `/tokens/${id}`))) lost += 1;
    return lost;
  }

  async #write(): Promise<void> {
    while (!this.#isOver) {
      const sent = performance.now();
      const created = await this.#send("POST", "/tokens", CARD_BODY);
      if (created) this.acknowledged.push({ id: created.id, sent, at: performance.now() });
      else await pause(20);
    }
  }

  /** Undefined if it failed. @throws Error if a read fails for another reason than that the token is gone. */
  async #send(method: "GET" | "POST", path: string, body?: Buffer): Promise<{ readonly id: string } | undefined> {
    const { host, port } = this.#server;
    const headers = { ...JSON_TYPE, "BT-API-KEY": this.#key };
    const sent = { method, headers, ...(body ? { body } : {}) };
    const response = await fetch(`http://${host}:${port}${path}`, sent).catch(() => undefined);
    const text = await response?.text();
    if (response?.ok && text !== undefined) return JSON.parse(text);
    if (method === "GET" && response?.status !== 404) throw new Error(`${path} returned ${response?.status}: ${text}`);
    return undefined;
  }
}

for (const [name, names] of Object.entries(KINDS)) {
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await failover(names));
  const sum = (of: (round: Round) => number) => rounds.reduce((total, round) => total + of(round), 0);
  const spread = (of: (round: Round) => number) => {
    const sorted = rounds.map(of).toSorted((one, other) => one - other);
    const [median = 0, most = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    return `${(median / 1_000).toFixed(1)} s (at most ${(most / 1_000).toFixed(1)})`;
  };
  const writes = `${sum(({ acknowledged }) => acknowledged)} acknowledged, ${sum(({ lost }) => lost)} lost`;
  const down = `no write for ${spread(({ downMs }) => downMs)}`;
  say(
    `${name}: ${ROUNDS} rounds, ${writes}; ${down}, ${spread((round) => round.afterPromotionMs)} after the promotion`,
  );
}
