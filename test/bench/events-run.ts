import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { LEASE_SECONDS } from "../../src/webhooks/delivery-queue.js";
import { type Receiver, startReceiver } from "../support/receiver.js";
import { childrenOf } from "./processor-time.js";
import { say } from "./table.js";
import { call, freePort, killed, newKey, postmasterOf, startServer } from "./vault-process.js";

const CLIENTS = 64;
const KILL_EVERY_MS = 20_000;
/** A run that is shorter has so many kills. */
const LEAST_KILLS = 3;
/** Without an event for this long the rest is lost: what a killed server was sending waits for the end of its lease. */
const PATIENCE_MS = (LEASE_SECONDS + 30) * 1_000;
/** The events of each token, in their order. */
const EVENTS = ["token.created", "token.updated", "token.updated", "token.deleted"];

/**
 * Creates, changes and deletes tokens for a time, and kills the server or a process of its database every few seconds.
 * A client repeats each request, with its idempotency key, until it is answered: so each effect happens once. Fails
 * unless each has an event, repeated only with its id, in the order of its token's effects.
 */
export async function eventsRun(seconds: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-events-"));
  // PostgreSQL's own account must be able to enter.
  chmodSync(directory, 0o755);
  await using receiver = await startReceiver();
  try {
    await runEvents(directory, receiver, seconds);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runEvents(directory: string, receiver: Receiver, seconds: number): Promise<void> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    PATH: process.env.PATH,
    CLOAKROOM_DATA_DIR: join(directory, "data"),
    CLOAKROOM_RATE_LIMITS: "off",
    CLOAKROOM_EGRESS_ALLOW: "127.0.0.1",
    CLOAKROOM_PORT: String(port),
    CLOAKROOM_ADMIN_PORT: "0",
  };
  let server = await startServer(environment, /first-management-key\n/);
  const managementKey = readFileSync(join(directory, "data", "first-management-key"), "utf8").trim();
  const permissions = ["token:create", "token:update", "token:delete"];
  const key = await newKey(url, managementKey, { name: "Events", type: "private", permissions });
  const body = { name: "Events", url: receiver.url, events: [...new Set(EVENTS)] };
  await call(`${url}/webhooks`, managementKey, { method: "POST", body });

  const end = performance.now() + seconds * 1_000;
  const tokens: string[] = [];
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let turn = 0; performance.now() < end; turn += 1) {
      const id = `${client}-${turn}`;
      await changeToken(url, key, id);
      tokens.push(id);
    }
  });
  const killEvery = Math.min(KILL_EVERY_MS, (seconds * 1_000) / (LEAST_KILLS + 1));
  const kills = { server: 0, database: 0 };
  let isOver = false;
  const killing = (async () => {
    for (let turn = 0; ; turn += 1) {
      await pause(killEvery);
      if (isOver || performance.now() > end) return;
      if (turn % 2 === 0) {
        await killed(server);
        kills.server += 1;
        server = await startServer(environment, /Health at/);
      } else kills.database += killBackend(directory);
    }
  })();
  await Promise.all(clients);
  isOver = true;
  await killing;
  say(
    `${tokens.length * EVENTS.length} effects, ${kills.server} kills of the server, ${kills.database} of the database`,
  );
  await allReceived(receiver, tokens);
  await killed(server);
}

/** Ends one process of PostgreSQL, which then restarts all of them. @returns how many were killed. */
function killBackend(directory: string): number {
  const isBackend = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("[local]");
  const backend = childrenOf(postmasterOf(join(directory, "data"))).find(isBackend);
  if (backend === undefined) return 0;
  process.kill(backend, "SIGKILL");
  return 1;
}

/** The four effects of one token. */
async function changeToken(url: string, key: string, id: string): Promise<void> {
  const send = (step: number, method: string, path: string, body?: object) =>
    sendUntilAnswered(`${url}${path}`, key, { name: `${id}-${step}`, method, body });
  await send(0, "POST", "/tokens", { id, type: "token", data: "x" });
  await send(1, "PATCH", `/tokens/${id}`, { metadata: { step: "1" } });
  await send(2, "PATCH", `/tokens/${id}`, { metadata: { step: "2" } });
  await send(3, "DELETE", `/tokens/${id}`);
}

interface Change {
  /** Its idempotency key. */
  readonly name: string;
  readonly method: string;
  readonly body: object | undefined;
}

async function sendUntilAnswered(address: string, key: string, { name, method, body }: Change): Promise<void> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { "BT-API-KEY": key, "BT-IDEMPOTENCY-KEY": name, ...(body ? { "Content-Type": type } : {}) };
  const content = body ? { body: JSON.stringify(body) } : {};
  for (let attempt = 0; ; attempt += 1) {
    const response = await fetch(address, { method, headers, ...content }).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    if (response?.ok && text !== undefined) return;
    // It was deleted by an attempt whose response was lost.
    if (method === "DELETE" && response?.status === 404 && attempt > 0) return;
    if (response && response.status < 500 && ![409, 429].includes(response.status)) {
      throw new Error(`${method} ${address} returned ${response.status}: ${text}`);
    }
    await pause(100);
  }
}

interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly tokenId: string;
}

/** The distinct events of a receiver, in the order in which each first arrived. */
class DistinctEvents {
  readonly #receiver: Receiver;
  readonly #byId = new Map<string, SentEvent>();
  #read = 0;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  get all(): readonly SentEvent[] {
    for (const { body } of this.#receiver.received.slice(this.#read)) {
      const { event } = JSON.parse(body);
      const id = String(event.id);
      if (!this.#byId.has(id)) this.#byId.set(id, { id, type: event.type, tokenId: event.data.token.id });
      this.#read += 1;
    }
    return [...this.#byId.values()];
  }
}

/** Waits until no more events come. @throws {Error} if one is missing, twice with different ids, or early. */
async function allReceived(receiver: Receiver, tokens: readonly string[]): Promise<void> {
  const wanted = tokens.length * EVENTS.length;
  const events = new DistinctEvents(receiver);
  const since = performance.now();
  const before = events.all.length;
  let [found, lastAt] = [before, since];
  while (found < wanted && performance.now() - lastAt < PATIENCE_MS) {
    await pause(1_000);
    const { length } = events.all;
    if (length > found) [found, lastAt] = [length, performance.now()];
  }
  const waited = (lastAt - since) / 1_000;
  say(
    `  ${found} events in ${receiver.received.length} deliveries, ${before} of them before the last effect; the last ${waited.toFixed(0)} s after it`,
  );
  const order = Map.groupBy(events.all, ({ tokenId }) => tokenId);
  const typesOf = (id: string) => (order.get(id) ?? []).map(({ type }) => type).join();
  const wrong = tokens.filter((id) => typesOf(id) !== EVENTS.join());
  if (found === wanted && wrong.length === 0) return;
  const [example = ""] = wrong;
  throw new Error(
    `${wanted} effects have ${found} events, and ${wrong.length} tokens others: ${example} ${typesOf(example)}`,
  );
}
