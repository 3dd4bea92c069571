import { performance } from "node:perf_hooks";
import { EvalFlags, JSException, QuickJS } from "quickjs-wasi";
import { defaultLimits, type RunLimits } from "../../limits.js";
import type { CompileProblem } from "../../run.js";
import type { Engine, Start } from "../engine.js";
import { registerHostFunctions } from "./host-functions.js";
import { Interrupt, QuickJsInstance, reasonOf } from "./quickjs-instance.js";
import { problemOf, SOURCE_NAME, wrapped } from "./source.js";
import { engineOptions, type World } from "./world.js";

/** Until the run at hand has most likely gone by: restoring takes 3 ms of its thread. */
const SPARE_AFTER_MS = 20;

/** A restored world in which no code has run yet. */
interface Blank {
  readonly vm: QuickJS;
  readonly interrupt: Interrupt;
  readonly limitBytes: number;
  readonly memoryBytes: () => number;
}

/** QuickJS-ng in WebAssembly: each instance has a linear memory of its own and starts as a copy of one snapshot. */
export class QuickJsEngine implements Engine {
  readonly #world: World;
  /** Restored ahead of need, for whoever comes next: that is most of what a cold start takes. */
  #spare: Blank | undefined;
  #isPreparing = false;

  constructor(world: World) {
    this.#world = world;
  }

  async start(code: string, limits: RunLimits): Promise<Start> {
    const { vm, interrupt, memoryBytes } = await this.#blank(limits.memoryBytes);
    const { load, call, deliver, fire } = this.#world.entries;
    const instance = new QuickJsInstance({
      vm,
      interrupt,
      memoryBytes,
      entries: {
        load: vm.importHandle(load),
        call: vm.importHandle(call),
        deliver: vm.importHandle(deliver),
        fire: vm.importHandle(fire),
      },
      packages: this.#world.packages,
    });
    registerHostFunctions(vm, instance);
    // Code that closes the wrapper itself runs here, not in a call.
    interrupt.deadline = performance.now() + limits.loadMs;
    try {
      instance.setCode(vm.evalCode(wrapped(code), SOURCE_NAME));
      return { kind: "started", instance };
    } catch (error) {
      const reason = interrupt.happened ? "timeout" : reasonOf(error);
      const problem = reason === "killed" && error instanceof JSException ? problemOf(error, code) : undefined;
      vm.dispose();
      return problem ? { kind: "does_not_compile", problem } : { kind: "failed", reason };
    }
  }

  async compile(code: string, withinMs: number): Promise<CompileProblem | undefined> {
    const { vm, interrupt } = await this.#blank(defaultLimits("reactor").memoryBytes);
    interrupt.deadline = performance.now() + withinMs;
    try {
      vm.evalCode(wrapped(code), SOURCE_NAME, EvalFlags.COMPILE_ONLY);
      return undefined;
    } catch (error) {
      if (error instanceof JSException) return problemOf(error, code);
      return { message: "The code is too large to be compiled.", line: 1, column: 1 };
    } finally {
      vm.dispose();
    }
  }

  async #blank(limitBytes: number): Promise<Blank> {
    const spare = this.#spare;
    this.#spare = undefined;
    if (!this.#isPreparing) {
      this.#isPreparing = true;
      setTimeout(() => void this.#prepareSpare(limitBytes), SPARE_AFTER_MS).unref();
    }
    return spare?.limitBytes === limitBytes ? spare : await this.#restore(limitBytes);
  }

  async #prepareSpare(limitBytes: number): Promise<void> {
    try {
      this.#spare = await this.#restore(limitBytes);
    } catch {
      // No memory for it now. Whoever needs an instance will try again, and be told.
    } finally {
      this.#isPreparing = false;
    }
  }

  async #restore(limitBytes: number): Promise<Blank> {
    const interrupt = new Interrupt();
    let memory: { readonly buffer: ArrayBufferLike } | undefined;
    const options = engineOptions(this.#world.modules);
    const vm = await QuickJS.restore(this.#world.snapshot, {
      ...options,
      memoryLimit: limitBytes,
      interruptHandler: interrupt.poll,
      wasi: (given: { readonly buffer: ArrayBufferLike }) => {
        memory = given;
        return options.wasi?.(given) ?? {};
      },
    });
    return { vm, interrupt, limitBytes, memoryBytes: () => memory?.buffer.byteLength ?? 0 };
  }
}
