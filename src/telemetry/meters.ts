import { STATUS_CODES } from "node:http";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { BODY_REFUSALS } from "../memory/body-fault.js";
import { RATE_SCOPES, type RateScope } from "../rate-limits/rate-scope.js";
import type { SinkName } from "../sinks/sink.js";
import type { EndedOperation } from "./ended-operation.js";
import { traceOperation } from "./traces.js";

/** Seconds, as OpenTelemetry's semantic conventions recommend for request durations. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * - `broken`: seals were changed or removed, and new ones leave a gap
 * - `refused`: the head of a chain is gone, and the chain waits for an operator
 * - `vault_broken`: the vault's own record of tenants' seals was truncated or changed
 * - `set_back`: the clock had run fast, and a log was set back to the present
 * - `behind`: this server's clock is behind the database's
 * - `sink_failed`: a sink has begun to refuse the log
 * - `stamp_failed`: the time-stamp authority has begun to fail
 * - `archive_failed`: the archive of the log has begun to fail
 */
export const AUDIT_INCIDENT_REASONS = [
  "broken",
  "refused",
  "vault_broken",
  "set_back",
  "behind",
  "sink_failed",
  "stamp_failed",
  "archive_failed",
] as const;
export type AuditIncident = (typeof AUDIT_INCIDENT_REASONS)[number];

export type Meters = ReturnType<typeof createMeters>;

interface TimedJob {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

/** The metrics of the process. Every label comes from a closed list, never from a caller's or tenant's input. */
export function createMeters() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const { requests, calls, operations } = trafficInstruments(registers);
  const { refusals, shed, refusedBodies, unauthenticated } = refusalInstruments(registers);
  const { incidents, jobs, sinkLag, stampLag, monthLag } = backgroundInstruments(registers);
  const patternOf = patternReader();
  return {
    registry,
    /** @param route the router's pattern; absent if none matches. */
    request(method: string, route: string | undefined, status: number, seconds: number): void {
      requests.observe(
        {
          http_request_method: METHODS.has(method) ? method : "_OTHER",
          http_route: route === undefined ? "other" : patternOf(route),
          // Destinations and tenants' code choose their own status codes.
          http_response_status_code: STATUS_CODES[status] === undefined ? "other" : status,
        },
        seconds,
      );
    },
    operation(ended: EndedOperation): void {
      const { rpc, route, code, bodyRefusal, seconds } = ended;
      traceOperation(ended);
      operations.inc({ rpc_method: rpc, code });
      if (code === "unauthenticated") unauthenticated.inc({ rpc_method: rpc });
      if (bodyRefusal) refusedBodies.inc({ reason: bodyRefusal });
      if (route === undefined) calls.observe({ rpc_method: rpc, code }, seconds);
    },
    rateRefused: (scope: RateScope) => refusals.inc({ scope }),
    /** Counts a problem with a tenant's log, or with the clock that dates it. */
    auditIncident: (reason: AuditIncident) => incidents.inc({ reason }),
    /** The time in seconds that the oldest minute has been waiting for a sink. Set by the process that sends. */
    sinkLag: (sink: SinkName, seconds: number) => sinkLag.set({ sink }, seconds),
    /** The time in seconds that seals have been waiting for a time stamp. Set by the process that asks for them. */
    stampLag: (seconds: number) => stampLag.set(seconds),
    /** The time in seconds that the oldest month of the log has been past its retention. Set by the process that removes it. */
    monthLag: (seconds: number) => monthLag.set(seconds),
    /** Counts a request that was refused unread because its tenant or network sends too many. */
    requestShed: () => shed.inc(),
    /** Wraps a job, to count each run with its duration and outcome. */
    timed: <T extends TimedJob>(job: T): T => ({
      ...job,
      async run(signal) {
        const end = jobs.startTimer({ name: job.name.replaceAll(" ", "_") });
        try {
          await job.run(signal);
          end({ outcome: "done" });
        } catch (error) {
          end({ outcome: "failed" });
          throw error;
        }
      },
    }),
  };
}

function trafficInstruments(registers: Registry[]) {
  const requests = new Histogram({
    name: "http_server_request_duration_seconds",
    help: "Duration of HTTP requests, over every protocol.",
    labelNames: ["http_request_method", "http_route", "http_response_status_code"],
    buckets: DURATIONS,
    registers,
  });
  const calls = new Histogram({
    name: "rpc_server_call_duration_seconds",
    help: "Duration of calls over gRPC, gRPC-Web and Connect.",
    labelNames: ["rpc_method", "code"],
    buckets: DURATIONS,
    registers,
  });
  const operations = new Counter({
    name: "cloakroom_operations_total",
    help: "Operations by their outcome, over every protocol.",
    labelNames: ["rpc_method", "code"],
    registers,
  });
  return { requests, calls, operations };
}

function refusalInstruments(registers: Registry[]) {
  const refusals = new Counter({
    name: "cloakroom_rate_limited_total",
    help: "Requests refused because their client exceeded a rate limit.",
    labelNames: ["scope"],
    registers,
  });
  const shed = new Counter({
    name: "cloakroom_requests_shed_total",
    help: "Requests refused with 503 before they were read, because their tenant or network sends more than the server can handle.",
    registers,
  });
  const refusedBodies = new Counter({
    name: "cloakroom_bodies_refused_total",
    help: "Request bodies that were refused, by reason.",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of BODY_REFUSALS) refusedBodies.inc({ reason }, 0);
  for (const scope of RATE_SCOPES) refusals.inc({ scope }, 0);
  const unauthenticated = new Counter({
    name: "cloakroom_authentication_failures_total",
    help: "Operations refused because the key, session or sign-in is missing or not valid.",
    labelNames: ["rpc_method"],
    registers,
  });
  return { refusals, shed, refusedBodies, unauthenticated };
}

function backgroundInstruments(registers: Registry[]) {
  const incidents = new Counter({
    name: "cloakroom_audit_incidents_total",
    help: "Problems found in logs and their seals, or in the clock that dates them.",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of AUDIT_INCIDENT_REASONS) incidents.inc({ reason }, 0);
  const jobs = new Histogram({
    name: "cloakroom_job_duration_seconds",
    help: "Duration of background jobs.",
    // Prometheus has a label `job` of its own.
    labelNames: ["name", "outcome"],
    buckets: [0.01, 0.1, 1, 10, 60, 600],
    registers,
  });
  const sinkLag = new Gauge({
    name: "cloakroom_audit_sink_lag_seconds",
    help: "How long the oldest sealed minute of a log has been waiting for a sink.",
    labelNames: ["sink"],
    registers,
  });
  const stampLag = new Gauge({
    name: "cloakroom_audit_stamp_lag_seconds",
    help: "How long seals have been waiting for their daily time stamp.",
    registers,
  });
  const monthLag = new Gauge({
    name: "cloakroom_audit_month_lag_seconds",
    help: "How long the oldest month of the log has been past its retention without being removed.",
    registers,
  });
  return { incidents, jobs, sinkLag, stampLag, monthLag };
}

/** Turns the router's `:id` into `{id}`, and remembers each route. */
function patternReader(): (route: string) => string {
  const patterns = new Map<string, string>();
  return (route) => {
    const known = patterns.get(route) ?? route.replace(/:(\w+)/g, "{$1}");
    patterns.set(route, known);
    return known;
  };
}
