import type { RunLimits } from "../limits.js";
/**
 * The complete interface of the worker for the guest. Tenants' code has none of these functions: they stay inside
 * the modules of this folder. The worker still treats every argument as hostile.
 */
export interface Host {
  /** Ends the run. A second call is ignored. */
  readonly finish: (kind: FinishKind, report: Uint8Array, value: Uint8Array) => void;
  /** Starts a call of bt or fetch; `deliver` gets the response under the same number. */
  readonly send: (number: number, payload: Uint8Array) => void;
  /** Schedules a call of `fire` with this number. */
  readonly setTimer: (number: number, ms: number) => void;
  readonly clearTimer: (number: number) => void;
  /** @returns whether further output will be kept. */
  readonly log: (level: string, text: string) => boolean;
  readonly random: (bytes: number) => Uint8Array;
  /** Bytes, or text that begins with "=" (a text result) or "!" (the message of an error). */
  readonly crypto: (operation: string, parameters: string, data: Uint8Array) => Uint8Array | string;
  /** See engine/host-url.ts. */
  readonly url: (request: string) => string;
  /** Bytes, or the error as JSON. See engine/host-zlib.ts. */
  readonly zlib: (operation: string, parameters: string, data: Uint8Array) => Uint8Array | string;
  /** "=" and JSON, or "!" and an error. See engine/host-intl. */
  readonly intl: (request: string) => string;
  /** Memory of the instance in bytes. */
  readonly memoryBytes: () => number;
  /** Evaluates the tenant's ES module: a promise of its exports. */
  readonly evaluateModule: () => Promise<unknown>;
  /** The function around a package outside the snapshot. Undefined: this vault was installed without the package. */
  readonly loadPackage: (name: string) => PackageFunction | undefined;
}

export type FinishKind = "returned" | "threw" | "memory" | "not_a_function" | "too_large";

export type PackageFunction = (module: { exports: unknown }, require: (name: string) => unknown) => void;

/** The limits of a run that the guest enforces itself, to report them as its own errors. */
export type GuestLimits = Pick<
  RunLimits,
  "resultBytes" | "hostCallsInFlight" | "hostCalls" | "hostCallBytes" | "timers"
>;
