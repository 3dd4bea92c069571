import type { BenchServer } from "./bench-server.js";
import { loadOverGrpc } from "./grpc-load.js";
import { loadOverHttp1 } from "./http1-load.js";
import type { LoadRequest } from "./load.js";
import { ownProcessorTime, processorTime } from "./processor-time.js";

/** One line of the table. */
export interface Measurement {
  readonly operation: string;
  readonly requestsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of processor time per request, of the server and its database. */
  readonly serverUs: number;
  readonly databaseUs: number;
  /** Requests without the expected response. */
  readonly failures: number;
}

export interface Plan {
  readonly operation: string;
  readonly protocol: "http1" | "grpc";
  readonly connections: number;
  readonly streams?: number;
  readonly warmUp?: number;
  readonly duration?: number;
  /** The expected status: an HTTP status, or 0 for gRPC. */
  readonly expect: number;
  request(n: number): LoadRequest;
}

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  readonly databasePid?: number;
}

export async function measure(target: Target | BenchServer, plan: Plan): Promise<Measurement> {
  const { warmUp = 1_500, duration = 5_000 } = plan;
  const load = plan.protocol === "grpc" ? loadOverGrpc : loadOverHttp1;
  const times = () => ({
    server: ownProcessorTime(target.pid),
    database: target.databasePid ? processorTime(target.databasePid) : 0,
    at: performance.now(),
  });
  const running = load({
    ...target,
    connections: plan.connections,
    streams: plan.streams,
    warmUp,
    duration,
    request: plan.request,
  });
  await new Promise((resolve) => setTimeout(resolve, warmUp));
  const before = times();
  const result = await running;
  const after = times();
  // Processor time is read slightly after the count ends, so it is scaled to the counted time.
  const share = duration / (after.at - before.at);
  const { latencies } = result;
  const each = (spent: number) => (spent * share) / Math.max(1, latencies.count);
  const failures = [...result.statuses].reduce((sum, [status, n]) => sum + (status === plan.expect ? 0 : n), 0);
  return {
    operation: plan.operation,
    requestsPerSecond: result.requestsPerSecond,
    p50: latencies.percentile(0.5),
    p99: latencies.percentile(0.99),
    serverUs: each(after.server - before.server),
    databaseUs: each(after.database - before.database),
    failures,
  };
}
