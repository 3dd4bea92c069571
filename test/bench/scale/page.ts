import { cpus, totalmem } from "node:os";
import type { Measurement } from "../measure.js";
import type { Overload } from "../overload.js";
import type { AtConnections } from "./connections.js";
import type { Endurance } from "./endurance.js";
import type { AtProcesses } from "./processes.js";
import { type Repeated, RUNS } from "./repeated.js";
import type { AtSize } from "./sizes.js";
import type { StartUp } from "./start-up.js";

export interface Findings {
  /** A bare server, measured first and last: how fast the machine was. */
  readonly echoes: readonly Measurement[];
  readonly connections: readonly AtConnections[];
  readonly tenants: readonly (Repeated & { readonly tenants: number })[];
  readonly sizes: readonly AtSize[];
  readonly plans: readonly string[];
  readonly processes: readonly AtProcesses[];
  readonly overloads: readonly Overload[];
  readonly endurance: Endurance;
  readonly startUp: StartUp;
  readonly sizesVersion: number;
}

/** What is measured of docs/performance.md. Its other sections are kept: see `keepWrittenSections`. */
export function performancePage(findings: Findings): string {
  const { echoes, sizes, plans, endurance, startUp, sizesVersion } = findings;
  return `# Performance

What one process does as the work grows. \`npm run bench:scale\` rewrites this page but what was written by hand (many
tenants beside one, a quiet tenant, exports, what a request allocates);
\`npm run bench\` compares the figures with the design's targets and with a
bare server on the same machine.

## Method

${machine()}.
Load generator, server and database share the machine, so the processor limits the throughput, and figures of two machines or two runs
compare by their ratios only. ${speed(echoes)}

Everything is on: fsync, log rows, row-level security; rate limits are off. Callers wait for a response before they send the next request,
without think time. A figure is the median of ${RUNS} runs of three seconds each; *confidence* is half of the distance between
the slowest and the fastest of them. \`server\` and \`database\` are microseconds of processor time for each request.

## Concurrent callers

${table(
  ["operation", "callers", ...HEAD],
  findings.connections.map((row) => [row.operation, row.connections, ...cells(row)]),
)}

## Tenants

32 callers; their requests are spread over all tenants.

${table(
  ["operation", "tenants", ...HEAD],
  findings.tenants.map((row) => [row.operation, row.tenants, ...cells(row)]),
)}

## Tokens in one tenant

On PostgreSQL ${sizesVersion} by \`DATABASE_URL\`. Creates and reads by 32 callers, lists and searches by two. Two of three tokens are cards,
each with two metadata pairs; 20 tokens share the requested pair. Those beyond the first million are older copies that
no page contains.

${table(
  ["operation", "tokens", ...HEAD],
  (sizes[0]?.rows ?? []).flatMap((_, index) =>
    sizes.flatMap(({ tokens, rows }) => {
      const row = rows[index];
      return row ? [[row.operation, count(tokens), ...cells(row)]] : [];
    }),
  ),
)}

Tables and indexes take ${sizes.map(({ tokens, bytesPerToken }) => `${bytesPerToken.toFixed(0)} bytes per token at ${count(tokens)}`).join(", ")}.

## Processes on one database

32 callers in all.

${table(
  ["operation", "processes", ...HEAD],
  findings.processes.map((row) => [row.operation, row.processes, ...cells(row)]),
)}

## Overload

Twice the rate that 128 callers sustain, at a fixed rate over 1,000 open connections; then half
of the sustained rate. Latency counts from the moment a request is due. Requests that arrive while every connection is busy are not let
in. A connection opened at that time would wait longer than any request: Node accepts one in each turn of its event loop.

${table(
  [
    "operation",
    "sustained/s",
    "its p99 ms",
    "offered/s",
    "served/s",
    "p99 ms",
    "shed with 503",
    "failed",
    "not let in",
    "most MB",
    "calm after s",
  ],
  findings.overloads.map((row) => [
    row.operation,
    ...[row.sustained, row.sustainedP99, row.offered, row.served, row.servedP99].map((value) => value.toFixed(0)),
    ...[row.shed, row.failed, row.unsent, megabytes(row.memory), (row.recoveredAfter / 1_000).toFixed(1)],
  ]),
)}

## Memory

The server alone, once a minute over ${endurance.minutes} minutes and ${count(endurance.requests)} requests, half of them creates: ${endurance.memory.map(megabytes).join(", ")} MB.

## Start

${(startUp.first / 1_000).toFixed(1)} s on an empty machine, ${(startUp.again / 1_000).toFixed(1)} s on existing data, until it serves.

## Plans at ${count(sizes.at(-1)?.tokens ?? 0)} tokens

Every query on tokens, terms, counters and log rows of the operations in the table above.

${plans.map((plan) => `\`\`\`text\n${plan}\n\`\`\``).join("\n\n")}
`;
}

const HEAD = ["req/s", "confidence", "p50 ms", "p99 ms", "server us", "database us"];

function cells({ requestsPerSecond, spread, p50, p99, serverUs, databaseUs, failures }: Repeated): string[] {
  if (failures > 0) throw new Error(`${failures} requests were not answered as expected`);
  return [
    requestsPerSecond.toFixed(0),
    `± ${(spread * 100).toFixed(0)} %`,
    p50.toFixed(1),
    p99.toFixed(1),
    serverUs.toFixed(0),
    databaseUs.toFixed(0),
  ];
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (parts: readonly (string | number)[]) => `| ${parts.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function speed(echoes: Findings["echoes"]): string {
  const figures = echoes.map(
    ({ requestsPerSecond, serverUs }) =>
      `${requestsPerSecond.toFixed(0)} requests per second at ${serverUs.toFixed(0)} us`,
  );
  return `A bare Fastify server that parses a card and writes it
back served 32 callers with ${figures.join(" before these runs, and ")} after them.`;
}

function machine(): string {
  const [cpu] = cpus();
  return `${cpus().length} cores (${cpu?.model ?? "unknown"}), ${Math.round(totalmem() / 2 ** 30)} GiB, Linux, Node ${process.versions.node}, embedded PostgreSQL 18 unless stated otherwise`;
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
const count = (n: number) => n.toLocaleString("en-US");
