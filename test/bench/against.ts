import { allocationRows } from "./allocation.js";
import { type BenchServer, startBenchServer } from "./bench-server.js";
import { TENANTS, tenantPlans } from "./many-tenants.js";
import { type Measurement, measure, type Plan } from "./measure.js";
import { buildCommit } from "./old-build.js";
import { residentMemory } from "./processor-time.js";
import { say } from "./table.js";
import { tokenPlans } from "./tokens.js";

/** Milliseconds measured for each build in a round, after a warm-up. */
const SLICE = { warmUp: 300, duration: 2_000 };

/** One operation on both builds over several rounds: medians, and the median of the ratios within each round. */
export interface Comparison {
  readonly operation: string;
  readonly before: Measurement;
  readonly now: Measurement;
  /** Requests per second, now over before. */
  readonly throughput: number;
  /** Processor time of server and database per request, now over before. */
  readonly processor: number;
}

export interface CompareOptions {
  readonly rounds: number;
  /** Measures operations whose name contains this. */
  readonly only: string;
}

/**
 * Measures another commit's build next to this one, on separate databases, in turns: other load on the machine affects
 * both alike. Prints a line for each operation.
 */
export async function compareWith(commit: string, { rounds, only }: CompareOptions): Promise<readonly Comparison[]> {
  using old = buildCommit(commit);
  await using before = await startBenchServer({}, undefined, { build: old.directory });
  await using now = await startBenchServer();
  const plans = { before: await plansOf(before, only), now: await plansOf(now, only) };
  const comparisons: Comparison[] = [];
  say(HEAD);
  for (const [index, plan] of plans.now.entries()) {
    const earlier = plans.before[index];
    if (!earlier || !plan.operation.includes(only)) continue;
    const comparison = await compare({ server: before, plan: earlier }, { server: now, plan }, rounds);
    comparisons.push(comparison);
    say(line(comparison));
  }
  for (const [name, server] of Object.entries({ before, now })) {
    say(`resident memory ${name}: ${(residentMemory(server.pid) / 2 ** 20).toFixed(0)} MB`);
  }
  for (const [name, build] of Object.entries({ before: old.directory, now: process.cwd() })) {
    say(`\n${name}:`);
    await allocationRows(build);
  }
  return comparisons;
}

/** One tenant's operations, and creates and reads of a thousand tenants, which take a minute to create. */
async function plansOf(server: BenchServer, only: string): Promise<readonly Plan[]> {
  const one = await tokenPlans(server);
  if (only !== "" && !only.includes("tenants")) return one;
  const many = await tenantPlans(server, TENANTS);
  return [...one, ...many.map((plan) => ({ ...plan, operation: `${plan.operation}, ${TENANTS} tenants` }))];
}

interface Side {
  readonly server: BenchServer;
  readonly plan: Plan;
}

async function compare(before: Side, now: Side, rounds: number): Promise<Comparison> {
  const slices: { readonly before: Measurement; readonly now: Measurement }[] = [];
  const slice = ({ server, plan }: Side) => measure(server, { ...plan, ...SLICE });
  for (let round = 0; round < rounds; round += 1) {
    // Turns alternate within a round too.
    const first = await slice(round % 2 === 0 ? before : now);
    const second = await slice(round % 2 === 0 ? now : before);
    slices.push(round % 2 === 0 ? { before: first, now: second } : { before: second, now: first });
  }
  return {
    operation: now.plan.operation,
    before: medianOf(slices.map(({ before }) => before)),
    now: medianOf(slices.map(({ now }) => now)),
    throughput: median(slices.map(({ before, now }) => now.requestsPerSecond / before.requestsPerSecond)),
    processor: median(slices.map(({ before, now }) => spent(now) / spent(before))),
  };
}

function spent({ serverUs, databaseUs }: Measurement): number {
  return serverUs + databaseUs;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function medianOf(slices: readonly Measurement[]): Measurement {
  const of = (read: (slice: Measurement) => number) => median(slices.map(read));
  return {
    operation: slices[0]?.operation ?? "",
    requestsPerSecond: of((slice) => slice.requestsPerSecond),
    p50: of((slice) => slice.p50),
    p99: of((slice) => slice.p99),
    serverUs: of((slice) => slice.serverUs),
    databaseUs: of((slice) => slice.databaseUs),
    failures: slices.reduce((sum, { failures }) => sum + failures, 0),
  };
}

const TITLES = ["req/s", "p50 ms", "p99 ms", "srv us", "db us"];
const HEAD = [
  "operation (before | now | now/before)".padEnd(50),
  ...[...TITLES, ...TITLES, "req/s", "cpu"].map((title) => title.padStart(7)),
].join("");

function line({ operation, before, now, throughput, processor }: Comparison): string {
  const figures = [before, now].flatMap(({ requestsPerSecond, p50, p99, serverUs, databaseUs }) => [
    requestsPerSecond.toFixed(0),
    p50.toFixed(2),
    p99.toFixed(2),
    serverUs.toFixed(0),
    databaseUs.toFixed(0),
  ]);
  const cells = [...figures, throughput.toFixed(2), processor.toFixed(2)].map((figure) => figure.padStart(7)).join("");
  const failures = before.failures + now.failures;
  return `${operation.padEnd(50)}${cells}${failures === 0 ? "" : `  ${failures} not as expected`}`;
}
