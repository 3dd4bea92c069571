import { MAX_RESULT_VALUES, MAX_VALUES } from "../base/json-structure.js";

const KB = 1024;
const MB = 1024 * KB;

/** Size of one request of code to the host, and of one response, in bytes. */
export const HOST_CALL_BYTES = MB;

/** Limits of one run. Times in milliseconds, sizes in bytes. */
export interface RunLimits {
  /**
   * From the start of the run to its response, including waits for `bt` and `fetch`. Time in the queue does not count.
   */
  readonly wallMs: number;
  /** For the top level of the code when an instance starts. */
  readonly loadMs: number;
  readonly memoryBytes: number;
  /** Size of the arguments as JSON. */
  readonly argsBytes: number;
  /** Size of the returned value as JSON. */
  readonly resultBytes: number;
  /** Scalars, arrays and objects in the returned value. */
  readonly resultValues: number;
  readonly hostCallsInFlight: number;
  readonly hostCalls: number;
  /** Size of one request to the host, and of one response. */
  readonly hostCallBytes: number;
  readonly consoleBytes: number;
  readonly timers: number;
}

/** The use of the code. Transforms see whole HTTP bodies, hence their larger limits. */
export type FunctionKind = "reactor" | "request_transform" | "response_transform" | "formula";

/**
 * docs/code.md promises 30 s, and payloads of 5 MB for transforms and 1 MB for reactors. A body of 5 MB needs some 50 MB
 * of memory (measured). The operator may set `wallMs` and `memoryBytes` (src/settings/groups/sandbox.ts).
 */
const COMMON: Omit<RunLimits, "argsBytes" | "resultBytes" | "resultValues"> = {
  wallMs: 30_000,
  loadMs: 1_000,
  memoryBytes: 128 * MB,
  hostCallsInFlight: 64,
  hostCalls: 1_000,
  hostCallBytes: HOST_CALL_BYTES,
  consoleBytes: 64 * KB,
  timers: 100,
};

/** Room for the headers and names around a largest body. */
const ENVELOPE = 64 * KB;

/** Text may double in size as JSON ("\"" becomes "\\\""), so arguments may be twice the payload. */
export function defaultLimits(kind: FunctionKind): RunLimits {
  const isReactor = kind === "reactor" || kind === "formula";
  const payload = isReactor ? MB : 5 * MB;
  // A reactor's result becomes messages of the API; a body is only written.
  const resultValues = isReactor ? 2 * MAX_VALUES : MAX_RESULT_VALUES;
  return { ...COMMON, argsBytes: 2 * payload + ENVELOPE, resultBytes: payload + ENVELOPE, resultValues };
}

/** Longest code, in characters. */
export const CODE_CHARACTERS = 50_000;

export interface InstanceLimits {
  readonly perThread: number;
  /** Linear memory of all idle instances of one thread, in bytes. */
  readonly memoryBytes: number;
  /** An instance with more linear memory than this is dropped after its call: such memory never shrinks. Bytes. */
  readonly largeBytes: number;
  readonly calls: number;
  /** Milliseconds without a call after which an instance is dropped. */
  readonly idleMs: number;
}

/** An instance holds 3.3 MB. With 36 MB a thread, four threads with full caches stay below the 400 MB that the runner may hold. */
export const defaultInstanceLimits: InstanceLimits = {
  perThread: 32,
  memoryBytes: 36 * MB,
  largeBytes: 32 * MB,
  calls: 1_000,
  idleMs: 5 * 60_000,
};

export interface QueueLimits {
  readonly total: number;
  readonly perTenant: number;
  /** Arguments of all waiting runs, in bytes. */
  readonly bytes: number;
  /** Milliseconds after which a waiting run is refused. */
  readonly waitMs: number;
}

export const defaultQueueLimits: QueueLimits = { total: 1_000, perTenant: 200, bytes: 64 * MB, waitMs: 5_000 };

/** Time for each step of stopping code before the next. Milliseconds. */
export interface KillLimits {
  /** After the deadline of a run and its load time, until the thread is ended. */
  readonly graceMs: number;
  /** From the request to end a thread until the runner is ended. */
  readonly threadExitMs: number;
  readonly pingMs: number;
  /** Without a response to a ping, until the runner is killed. */
  readonly silenceMs: number;
}

/**
 * A thread ends when its current native call returns. Each takes less than a second on an idle processor
 * (engine/host-crypto, engine/host-zlib.ts, engine/host-intl.ts), hence the tenfold for a busy one.
 */
export const defaultKillLimits: KillLimits = { graceMs: 500, threadExitMs: 10_000, pingMs: 500, silenceMs: 2_000 };
