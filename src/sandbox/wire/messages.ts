import type { RunLimits } from "../limits.js";
import { object, parseWireJson, whole } from "./shape.js";

export interface RunHeader {
  readonly tenant: string;
  /** The key of instances that may serve it, see instanceKey. */
  readonly key: string;
  readonly code: string;
  readonly hasApplication: boolean;
  readonly limits: RunLimits;
}

export interface CompileHeader {
  readonly tenant: string;
  readonly code: string;
}

/** The runner's health report in a pong frame. */
export interface RunnerHealth {
  /** Resident memory of the process, in bytes. */
  readonly rssBytes: number;
  readonly threads: number;
  readonly queued: number;
}

/** @throws ProtocolError for anything else. */
export function readHealth(payload: Buffer): RunnerHealth {
  const health = object(parseWireJson(payload));
  return {
    rssBytes: whole(health.rssBytes, 0, Number.MAX_SAFE_INTEGER),
    threads: whole(health.threads, 0, 10_000),
    queued: whole(health.queued, 0, 1_000_000),
  };
}
