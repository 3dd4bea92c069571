import { performance } from "node:perf_hooks";
import { EvalFlags, JSException, type JSValueHandle, type QuickJS } from "quickjs-wasi";
import { SOURCE_NAME } from "../../source-position.js";
import { readGuestError } from "../../wire/report.js";
import { object, parseWireJson } from "../../wire/shape.js";
import type { EngineFailure, EngineResult, EngineRun, Instance } from "../engine.js";
import { ActiveRun, type Outcome } from "./active-run.js";
import type { GuestEntry } from "./guest-image.js";
import type { RunFunctions } from "./host-functions.js";
import type { NativeFunctions } from "./native-functions.js";

/** Time for microtasks that code left behind after its result, in milliseconds. */
const AFTERMATH_MS = 50;

/** Polled by the engine while it runs code. */
export class Interrupt {
  /** On the clock of performance.now(). */
  deadline = Number.POSITIVE_INFINITY;
  cancelled: Int32Array = new Int32Array(1);
  happened = false;

  readonly poll = (): boolean => {
    if (performance.now() < this.deadline && this.cancelled[0] === 0) return false;
    this.happened = true;
    return true;
  };
}

type RunEntry = Exclude<GuestEntry, "namesOf">;

export interface InstanceParts {
  readonly vm: QuickJS;
  readonly interrupt: Interrupt;
  readonly native: NativeFunctions;
  readonly entries: Readonly<Record<RunEntry, JSValueHandle>>;
  readonly memoryBytes: () => number;
}

/** A tenant's code, compiled. */
export type TenantCode =
  /** The function around CommonJS code. */
  | { readonly kind: "common_js"; readonly wrapper: JSValueHandle }
  | { readonly kind: "module"; readonly source: string };

export class QuickJsInstance implements Instance, RunFunctions {
  readonly #parts: InstanceParts;
  /** Present until it is evaluated. */
  #code: TenantCode | undefined;
  #active: ActiveRun | undefined;
  #isUsable = true;

  constructor(parts: InstanceParts) {
    this.#parts = parts;
  }

  setCode(code: TenantCode): void {
    this.#code = code;
  }

  get memoryBytes(): number {
    return this.#parts.memoryBytes();
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  dispose(): void {
    this.#isUsable = false;
    this.#parts.vm.dispose();
  }

  call(run: EngineRun): Promise<EngineResult> {
    const active = new ActiveRun(run, this.#timedOut);
    this.#active = active;
    this.#parts.interrupt.cancelled = run.cancelled;
    const limits = JSON.stringify(run.limits);
    if (this.#loaded(active, limits)) {
      this.#enter(active, active.deadline, (vm) => {
        using args = vm.newUint8Array(run.args);
        using given = vm.newString(limits);
        this.#callGuest("call", args, run.hasApplication ? vm.true : vm.false, given).dispose();
      });
    }
    return active.result;
  }

  /** Evaluates the code at the first call. Evaluation of an ES module may continue afterwards. */
  #loaded(active: ActiveRun, limits: string): boolean {
    const code = this.#code;
    if (code === undefined) return true;
    const deadline = Math.min(active.deadline, performance.now() + active.run.limits.loadMs);
    this.#run(active, deadline, (vm) => {
      using wrapper = code.kind === "common_js" ? code.wrapper : vm.undefined.dup();
      using given = vm.newString(limits);
      using loaded = this.#callGuest("load", wrapper, given);
      if (!loaded.toBoolean()) active.decide({ kind: "failed", reason: "not_a_function" });
    });
    this.#code = undefined;
    if (!active.hasOutcome) return true;
    this.#isUsable = false;
    this.#end(active);
    return false;
  }

  /** Runs code of the guest, then ends the run if that decided its outcome. */
  #enter(active: ActiveRun, deadline: number, enter: (vm: QuickJS) => void): void {
    if (this.#active !== active) return;
    this.#run(active, deadline, enter);
    if (!active.hasOutcome && active.awaitsNothing) {
      // A later call could settle this promise, so the instance serves no later call.
      active.decide({ kind: "failed", reason: "unsettled" });
      this.#isUsable = false;
    }
    if (active.hasOutcome) this.#end(active);
  }

  #run(active: ActiveRun, deadline: number, enter: (vm: QuickJS) => void): void {
    const { vm, interrupt } = this.#parts;
    interrupt.deadline = deadline;
    try {
      enter(vm);
      vm.executePendingJobs();
    } catch (error) {
      active.fail(interrupt.happened ? "timeout" : thrownReason(error));
      this.#isUsable = false;
    } finally {
      interrupt.deadline = Number.POSITIVE_INFINITY;
    }
    // If promises swallow the error, an interrupt shows only here.
    if (interrupt.happened) {
      active.fail("timeout");
      this.#isUsable = false;
    }
  }

  #end(active: ActiveRun): void {
    this.#active = undefined;
    this.#parts.native.endRun();
    active.end(this.#timedOut);
  }

  readonly #timedOut = (): void => {
    const active = this.#active;
    if (active === undefined) return;
    active.fail("timeout");
    this.#isUsable = false;
    this.#end(active);
  };

  #callGuest(entry: RunEntry, ...args: JSValueHandle[]): JSValueHandle {
    const { vm, entries } = this.#parts;
    return vm.callFunction(entries[entry], vm.undefined, ...args);
  }

  // Called by the guest. Arguments may come from hostile code.

  finish(kind: string, report: Uint8Array, value: Uint8Array<ArrayBuffer>): void {
    const active = this.#active;
    if (active === undefined || active.hasOutcome) return;
    const { interrupt } = this.#parts;
    // An interrupted host function threw an error into the guest. The guest ends the run with it before the engine
    // does.
    if (interrupt.happened) {
      this.#failHard(active, "timeout");
      return;
    }
    interrupt.deadline = Math.min(interrupt.deadline, performance.now() + AFTERMATH_MS);
    if (kind === "memory") this.#failHard(active, "memory");
    else if (kind === "not_a_function") this.#failHard(active, kind);
    else active.decide(this.#outcome(active, kind, report, value) ?? { kind: "failed", reason: "result_too_large" });
  }

  #outcome({ run }: ActiveRun, kind: string, report: Uint8Array, value: Uint8Array<ArrayBuffer>): Outcome | undefined {
    const { resultBytes } = run.limits;
    if (report.length + value.length > resultBytes) return undefined;
    if (kind === "returned") return { kind, value };
    if (kind !== "threw") return undefined;
    const error = readThrown(report);
    // Measured in its final form: invalid UTF-8 triples in length when it is decoded.
    const errorBytes = Buffer.byteLength(JSON.stringify(error));
    return errorBytes + value.length > resultBytes ? undefined : { kind, error, value };
  }

  #failHard(active: ActiveRun, reason: EngineFailure | "not_a_function"): void {
    active.fail(reason);
    this.#isUsable = false;
  }

  send(number: number, payload: Uint8Array<ArrayBuffer>): void {
    const active = this.#active;
    active?.callHost(payload, (reply) => {
      this.#enter(active, active.deadline, (vm) => {
        using name = vm.newNumber(number);
        using payload = vm.newUint8Array(reply);
        this.#callGuest("deliver", name, payload).dispose();
      });
    });
  }

  setTimer(number: number, ms: number): void {
    const active = this.#active;
    active?.setTimer(number, ms, () => {
      this.#enter(active, active.deadline, (vm) => {
        using name = vm.newNumber(number);
        this.#callGuest("fire", name).dispose();
      });
    });
  }

  clearTimer(number: number): void {
    this.#active?.clearTimer(number);
  }

  log(level: string, text: string): boolean {
    return this.#active?.console.add(level, text) ?? false;
  }

  evaluateModule(): JSValueHandle | undefined {
    if (this.#code?.kind !== "module") return undefined;
    const { vm } = this.#parts;
    try {
      return vm.evalCode(this.#code.source, SOURCE_NAME, EvalFlags.TYPE_MODULE);
    } catch (error) {
      if (!(error instanceof JSException)) throw error;
      // A module lacks an export that the code imports by name.
      const { handle, reject } = vm.newPromise();
      reject(error.handle);
      return handle;
    }
  }
}

function readThrown(report: Uint8Array) {
  try {
    return readGuestError(object(parseWireJson(Buffer.from(report))), null);
  } catch {
    const errors = { error: ["The code threw a value that cannot be read."] };
    return { type: "other", status: 500, detail: "Reactor Runtime Error", errors, position: undefined } as const;
  }
}

/**
 * An engine failure that code could not catch. If WebAssembly trapped, memory ran out too: the engine's parsers recurse
 * on nested input until the stack ends, without its own check.
 */
export function thrownReason(error: unknown): EngineFailure {
  if (error instanceof JSException) return error.message === "out of memory" ? "memory" : "killed";
  if (!(error instanceof Error)) return "killed";
  const isTrap = error instanceof RangeError || error.name === "RuntimeError";
  return isTrap || /out of memory|malloc failed/.test(error.message) ? "memory" : "killed";
}
