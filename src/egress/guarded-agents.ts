import http from "node:http";
import https from "node:https";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { EgressError } from "./egress-error.js";
import type { EgressDecision, EgressPolicy, EgressTarget } from "./egress-policy.js";
import { type Guard, guardedConnect } from "./guarded-connect.js";
import { readHost } from "./host.js";
import { type ResolveName, systemResolver } from "./resolve-name.js";

export interface GuardedAgentOptions {
  /** Default: {@link systemResolver}. */
  readonly resolve?: ResolveName;
  readonly onDecision?: (decision: EgressDecision) => void;
  /** Trusted certificate authorities in PEM, replacing Node's own. */
  readonly ca?: readonly string[];
  /** Milliseconds. Default 5,000. */
  readonly nameTimeoutMs?: number;
  /** Milliseconds for look-up, TCP and TLS together. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds for which an unused connection is kept. Default 4,000: less than the 5 s of a Node server, the
   * shortest of the common ones, because a request sent while the other side closes is lost with its outcome unknown.
   */
  readonly idleSocketMs?: number;
  /** Most connections to one destination in one pool; further requests wait. Default 32. */
  readonly maxSockets?: number;
}

/** Agents for node:http and node:https that reach only what the policy allows. */
export interface GuardedAgents {
  readonly http: http.Agent;
  readonly https: https.Agent;
  readonly policy: EgressPolicy;
  readonly onDecision: (decision: EgressDecision) => void;
  /** Destroys every socket, including those in use. */
  close(): void;
}

/**
 * Request options with a pool. Only requests of one pool share connections; requests without one share a nameless pool.
 */
export interface PooledRequestOptions extends https.RequestOptions {
  readonly pool?: string;
}

export function createGuardedAgents(policy: EgressPolicy, options: GuardedAgentOptions = {}): GuardedAgents {
  const guard: Guard = {
    policy,
    resolve: options.resolve ?? systemResolver((name) => policy.listsHost(name)),
    onDecision: options.onDecision ?? (() => {}),
    ca: options.ca,
    nameTimeoutMs: options.nameTimeoutMs ?? 5_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
  };
  const maxSockets = options.maxSockets ?? 32;
  const settings = {
    keepAlive: true,
    // Closes idle sockets only; a request in progress just gets a `timeout` event.
    timeout: options.idleSocketMs ?? 4_000,
    maxSockets,
    // As many as may be open: with 8, 32 concurrent callers closed and opened connections all the time, a tenth of the
    // cost of their calls. KEPT_LONG bounds how long they are kept.
    maxFreeSockets: maxSockets,
    scheduling: "lifo",
  } as const;
  const agents = { http: new GuardedHttpAgent(settings, guard), https: new GuardedHttpsAgent(settings, guard) };
  for (const agent of Object.values(agents)) keepBurstsBriefly(agent);
  return {
    ...agents,
    policy,
    onDecision: guard.onDecision,
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/**
 * Unused connections per destination that are kept for the whole idle time; others are kept for BRIEF_MS. If a
 * destination closes idle connections sooner than we do, a burst at that moment lost 32 calls in place of 8.
 */
const KEPT_LONG = 8;
const BRIEF_MS = 500;

function keepBurstsBriefly(agent: http.Agent): void {
  // Runs after the agent's own listener, which keeps or destroys the socket.
  agent.on("free", (socket: Socket, options: Parameters<typeof agent.getName>[0]) => {
    const free = agent.freeSockets[agent.getName(options)] ?? [];
    if (free.length > KEPT_LONG && free.at(-1) === socket) {
      socket.setTimeout(Math.min(socket.timeout ?? BRIEF_MS, BRIEF_MS));
    }
  });
}

type Connected = (error: Error | null, stream: Duplex) => void;

class GuardedHttpAgent extends http.Agent {
  readonly #guard: Guard;

  constructor(options: http.AgentOptions, guard: Guard) {
    super(options);
    this.#guard = guard;
  }

  override createConnection(options: http.ClientRequestArgs, callback?: Connected): Duplex | undefined {
    return connectFor("http:", options, this.#guard, callback);
  }

  override getName(options: PooledRequestOptions = {}): string {
    return pooledName(super.getName(options), options);
  }
}

class GuardedHttpsAgent extends https.Agent {
  readonly #guard: Guard;

  constructor(options: https.AgentOptions, guard: Guard) {
    super(options);
    this.#guard = guard;
  }

  override createConnection(options: https.RequestOptions, callback?: Connected): Duplex | undefined {
    return connectFor("https:", options, this.#guard, callback);
  }

  override getName(options: PooledRequestOptions = {}): string {
    return pooledName(super.getName(options), options);
  }
}

/**
 * The pool is part of the key of sockets: tenants never share a connection, so one tenant's traffic cannot reach
 * another's request or response.
 */
function pooledName(destination: string, options: PooledRequestOptions): string {
  return `${options.pool ?? ""}\n${destination}`;
}

/**
 * Uses only host and port of the request's options: `lookup`, `socketPath`, `rejectUnauthorized` and similar options
 * have no effect. Returns the socket while it still connects, because Node counts only returned ones for `maxSockets`.
 */
function connectFor(
  protocol: EgressTarget["protocol"],
  options: http.ClientRequestArgs,
  guard: Guard,
  callback: Connected | undefined,
): Duplex | undefined {
  try {
    const host = readHost((options.host ?? "").toLowerCase());
    if (host === undefined) throw new EgressError("host");
    const port = Number(options.port ?? options.defaultPort ?? (protocol === "https:" ? 443 : 80));
    return guardedConnect({ protocol, host: host.text, port }, guard);
  } catch (error) {
    if (callback === undefined || !(error instanceof Error)) throw error;
    callback(error, new Socket());
    return undefined;
  }
}
