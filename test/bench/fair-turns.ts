import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isTenantId, type TenantId } from "../../src/base/ids.js";
import type { BenchServer } from "./bench-server.js";
import { Histogram } from "./histogram.js";
import type { LoadOrder } from "./hostile-load-process.js";
import { BenchCaller, HOSTILE_LOADS, type LoadTarget } from "./hostile-loads.js";
import { encode } from "./http1-load.js";
import { tenantPlans } from "./many-tenants.js";
import { say } from "./table.js";
import { makeApplication } from "./token-requests.js";

/**
 * Rounds of each load. In each the quiet tenant asks alone, then while another vault of this machine has the load, then
 * while its own has it: what else the machine does is in all of them.
 */
const ROUNDS = 5;
/** Requests of the quiet tenant in each part of a round, the pause between two of them, and the most that they take. */
const ASKED = 60;
const PAUSE_MS = 8;
const MAX_ASKING_MS = 2_500;
const WARM_UP_MS = 400;

/** How a quiet tenant fared. Server time is that of the main thread, from a request to its response, in milliseconds. */
class Fared {
  readonly #latencies = new Histogram();
  readonly #times = new Histogram();
  #sum = 0;
  asked = 0;
  refused = 0;

  add(latency: number, serverTime: number, status: number): void {
    this.#latencies.add(latency);
    this.#times.add(serverTime);
    this.#sum += serverTime;
    this.asked += 1;
    if (status >= 400) this.refused += 1;
  }

  get figures(): Readonly<Record<string, number>> {
    return {
      p50: this.#latencies.percentile(0.5),
      p99: this.#latencies.percentile(0.99),
      "server time": this.#sum / Math.max(1, this.asked),
      "its p99": this.#times.percentile(0.99),
    };
  }
}

/**
 * Measures a quiet tenant's reads alone, while another vault of the machine has a hostile load, and while its own vault
 * has it, in turns in the same run. Prints all three, and the ratios of latency and of the server's time until the
 * response. What the second costs is the price of two processors; the third shows what tenants cost each other. Takes
 * about 30 seconds a load.
 * @param only those whose name contains it.
 */
export async function fairTurnsRows(server: BenchServer, other: BenchServer, only: string): Promise<void> {
  const [, reads] = await tenantPlans(server, 1);
  if (!reads) throw new Error("there is nothing to measure");
  const quiet = encode(server, reads.request(0));
  const [here, elsewhere] = [await targetIn(server), await targetIn(other)];
  await ask(server, quiet, new Fared());
  for (const [index, { name }] of HOSTILE_LOADS.entries()) {
    if (!name.includes(only)) continue;
    const [alone, beside, attacked] = [new Fared(), new Fared(), new Fared()];
    const askUnder = async (target: LoadTarget, fared: Fared) => {
      {
        await using _load = await startLoad(target, index);
        await pause(WARM_UP_MS);
        await ask(server, quiet, fared);
      }
      await pause(WARM_UP_MS);
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      await ask(server, quiet, alone);
      await askUnder(elsewhere, beside);
      await askUnder(here, attacked);
    }
    say(`a quiet tenant's read, ${name}: ${describe(alone)}`);
    say(`  in another vault: ${describe(beside, alone)}`);
    say(`  in its own vault: ${describe(attacked, alone)}`);
  }
}

async function targetIn(server: BenchServer): Promise<LoadTarget> {
  const key = await makeApplication(server, server.managementKey);
  return { host: server.host, port: server.port, key, tenantId: await tenantOf(server) };
}

/** Figures in milliseconds, and as times of those alone. */
function describe({ figures, refused, asked }: Fared, alone?: Fared): string {
  const show = ([figure, value]: [string, number]) => {
    const times = alone ? ` (${(value / (alone.figures[figure] ?? 0)).toFixed(2)})` : "";
    return `${figure} ${value.toFixed(1)}${times}`;
  };
  return `${Object.entries(figures).map(show).join(", ")} ms; ${refused} of ${asked} refused`;
}

async function tenantOf(server: BenchServer): Promise<TenantId> {
  const response = await fetch(`http://${server.host}:${server.port}/tenants/self`, {
    headers: { "BT-API-KEY": server.managementKey },
  });
  const { id } = JSON.parse(await response.text());
  if (!isTenantId(id)) throw new Error(`the tenant could not be read: ${response.status}`);
  return id;
}

/**
 * Starts a load in a process, which ends with it. Others attack from their own machines: here, the attack takes only the
 * processor time that the server, its database and the quiet caller leave.
 */
async function startLoad(target: LoadTarget, index: number): Promise<AsyncDisposable> {
  const attacker = fork(fileURLToPath(new URL("hostile-load-process.js", import.meta.url)));
  setPriority(attacker.pid ?? 0, constants.priority.PRIORITY_LOW);
  const started = once(attacker, "message");
  attacker.send({ target, index } satisfies LoadOrder);
  await started;
  return {
    async [Symbol.asyncDispose]() {
      const ended = once(attacker, "exit");
      attacker.kill("SIGKILL");
      await ended;
    },
  };
}

/** Asks one request after the other over one connection. */
async function ask(server: BenchServer, request: Buffer, fared: Fared): Promise<void> {
  const caller = await BenchCaller.open(server);
  const end = performance.now() + MAX_ASKING_MS;
  for (let asked = -3; asked < ASKED && performance.now() < end; asked += 1) {
    const before = { at: performance.now(), served: mainThreadMs(server.pid) };
    const status = await caller.ask(request);
    const latency = performance.now() - before.at;
    if (asked >= 0) fared.add(latency, mainThreadMs(server.pid) - before.served, status);
    await pause(PAUSE_MS);
  }
  caller.close();
}

/** Processor time of a process' main thread in milliseconds, which Linux counts in nanoseconds. */
function mainThreadMs(pid: number): number {
  const [nanoseconds = "0"] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}
