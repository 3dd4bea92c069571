import { performance } from "node:perf_hooks";
import { EvalFlags, JSException, type JSValueHandle, QuickJS } from "quickjs-wasi";
import { defaultLimits, type RunLimits } from "../../limits.js";
import type { CompileProblem } from "../../run.js";
import { SOURCE_NAME, wrapped } from "../../source-position.js";
import type { StartResult } from "../engine.js";
import { withoutRun } from "./build-guest-image.js";
import { engineOptions, type GuestImage, readPackage } from "./guest-image.js";
import { registerHostFunctions } from "./host-functions.js";
import { moduleSource } from "./module-loader.js";
import { NativeFunctions } from "./native-functions.js";
import type { InstanceParts } from "./quickjs-instance.js";
import { Interrupt, QuickJsInstance, thrownReason } from "./quickjs-instance.js";
import { isModuleSyntax, readSourceProblem } from "./source.js";

/** Delay after which the current run has most likely ended: restoring takes 3 ms of its thread. */
const SPARE_AFTER_MS = 20;

/** A restored guest in which no code has run yet. */
interface Blank extends Omit<InstanceParts, "entries"> {
  readonly limitBytes: number;
}

/**
 * Runs tenants' code by QuickJS-ng in WebAssembly: each instance has its own linear memory and starts as a copy of one
 * snapshot. The engine does not know tenants, keys or processes.
 */
export class QuickJsEngine {
  readonly #image: GuestImage;
  /** Restored in advance for the next run: restoring is most of a cold start. */
  #spare: Blank | undefined;
  #isPreparing = false;

  constructor(image: GuestImage) {
    this.#image = image;
  }

  /** Starts an instance with code of its own. Instances share nothing. */
  async start(code: string, limits: RunLimits): Promise<StartResult> {
    const { vm, interrupt, native, memoryBytes } = await this.#blank(limits.memoryBytes);
    const { load, call, deliver, fire } = this.#image.entries;
    const entries = {
      load: vm.importHandle(load),
      call: vm.importHandle(call),
      deliver: vm.importHandle(deliver),
      fire: vm.importHandle(fire),
    };
    const instance = new QuickJsInstance({ vm, interrupt, native, entries, memoryBytes });
    registerHostFunctions(vm, { run: instance, native });
    // Code that closes the wrapper itself runs here, not in a call.
    interrupt.deadline = performance.now() + limits.loadMs;
    try {
      const compiled = compileCode(vm, code, interrupt);
      if (compiled.kind !== "problem") {
        instance.setCode(compiled);
        return { kind: "started", instance };
      }
      vm.dispose();
      return { kind: "does_not_compile", problem: compiled.problem };
    } catch (error) {
      const reason = interrupt.happened ? "timeout" : thrownReason(error);
      vm.dispose();
      return { kind: "failed", reason };
    }
  }

  /** Compiles code without running it. If an engine exceeds the time, its thread is ended. */
  async compile(code: string, withinMs: number): Promise<CompileProblem | undefined> {
    const { vm, interrupt, native } = await this.#blank(defaultLimits("reactor").memoryBytes);
    registerHostFunctions(vm, { run: withoutRun, native });
    interrupt.deadline = performance.now() + withinMs;
    try {
      const compiled = compileCode(vm, code, interrupt, EvalFlags.COMPILE_ONLY);
      return compiled.kind === "problem" ? compiled.problem : undefined;
    } catch {
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
      // There is no memory for it now. The next run that needs an instance retries and reports the error.
    } finally {
      this.#isPreparing = false;
    }
  }

  async #restore(limitBytes: number): Promise<Blank> {
    const interrupt = new Interrupt();
    let memory: { readonly buffer: ArrayBufferLike } | undefined;
    let namesOf: JSValueHandle | undefined;
    const options = engineOptions(this.#image.modules);
    const vm: QuickJS = await QuickJS.restore(this.#image.snapshot, {
      ...options,
      memoryLimit: limitBytes,
      interruptHandler: interrupt.poll,
      moduleLoader: {
        load: (specifier: string) => {
          namesOf ??= vm.importHandle(this.#image.entries.namesOf);
          return moduleSource(vm, namesOf, specifier);
        },
      },
      wasi: (given: { readonly buffer: ArrayBufferLike }) => {
        memory = given;
        return options.wasi?.(given) ?? {};
      },
    });
    const memoryBytes = () => memory?.buffer.byteLength ?? 0;
    const native = new NativeFunctions({
      isInterrupted: interrupt.poll,
      memoryBytes,
      readPackage: (name) => readPackage(this.#image, name),
    });
    return { vm, interrupt, native, limitBytes, memoryBytes };
  }
}

/** The function around CommonJS code, an ES module, or the problem in the code. */
type Compiled =
  | { readonly kind: "common_js"; readonly wrapper: JSValueHandle }
  | { readonly kind: "module"; readonly source: string }
  | { readonly kind: "problem"; readonly problem: CompileProblem };

/**
 * Compiles code as CommonJS or as an ES module, and checks the modules that it imports.
 * @throws {Error} if the engine failed or was interrupted.
 */
function compileCode(vm: QuickJS, code: string, interrupt: Interrupt, flags = 0): Compiled {
  const problem = (error: unknown, isWrapped: boolean): CompileProblem => {
    if (!(error instanceof JSException) || interrupt.happened || thrownReason(error) !== "killed") throw error;
    return readSourceProblem(error, code, isWrapped);
  };
  try {
    return { kind: "common_js", wrapper: vm.evalCode(wrapped(code), SOURCE_NAME, flags) };
  } catch (error) {
    const found = problem(error, true);
    if (!isModuleSyntax(code, found)) return { kind: "problem", problem: found };
  }
  try {
    vm.evalCode(code, SOURCE_NAME, EvalFlags.TYPE_MODULE | EvalFlags.COMPILE_ONLY).dispose();
    return { kind: "module", source: code };
  } catch (error) {
    return { kind: "problem", problem: problem(error, false) };
  }
}
