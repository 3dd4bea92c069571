import { preloaded } from "guest:packages";
import { Buffer } from "node:buffer";
import { HostCalls } from "./ask-host.js";
import { createBt } from "./bt.js";
import { ConsoleState, createConsole } from "./console.js";
import { Ending } from "./ending.js";
import { findHandler, type Handler } from "./handler.js";
import type { GuestLimits, Host } from "./host.js";
import { createFetch, Request, Response } from "./http/fetch.js";
import { Headers } from "./http/headers.js";
import { HostIntl } from "./intl/host-intl.js";
import { createIntl } from "./intl/intl.js";
import { installLocaleMethods } from "./intl/locale-methods.js";
import { parseJson, toText, writeJson } from "./intrinsics.js";
import { installNativeBufferCodecs } from "./node/buffer.js";
import { connectProcess, process } from "./node/process.js";
import { Timers } from "./node/timers.js";
import { RandomSource } from "./random.js";
import { createRequire, type Require } from "./require.js";
import { AbortController, AbortSignal, Event, EventTarget } from "./web/abort.js";
import { createAtomics } from "./web/atomics.js";
import { TextDecoder } from "./web/text-decoder.js";
import { createUrlClass } from "./web/url.js";
import { URLSearchParams } from "./web/url-search-params.js";

type ModuleWrapper = (exports: unknown, require: unknown, module: unknown, filename: string, dirname: string) => void;

/** The worker's entry points in an instance. None of these throws, unless the engine itself stops the code. */
export interface Guest {
  /**
   * Evaluates tenants' code: CommonJS wrapped into a function, or without one the ES module that the worker holds.
   * Returns false if it has ended the run itself, or exports no function.
   */
  readonly load: (wrapper: ModuleWrapper | undefined, limits: string) => boolean;
  /** Starts a run. Its end comes through `host.finish`. */
  readonly call: (args: Uint8Array, hasApplication: boolean, limits: string) => void;
  readonly deliver: (number: number, payload: Uint8Array) => void;
  readonly fire: (number: number) => void;
  /** The names that a module exports, as a JSON list. @throws if there is no such module. */
  readonly namesOf: (name: string) => string;
}

/** Builds the guest for tenants' code. Runs once, before the snapshot: nothing here may be random or secret. */
export default function boot(host: Host): Guest {
  const random = new RandomSource(host);
  const calls = new HostCalls(host);
  const timers = new Timers(host);
  const consoleState = new ConsoleState();
  const ending = new Ending(host);
  installGlobals({ host, random, calls, timers, consoleState, ending });
  const require = installRequire(host, calls, timers);
  let handler: Promise<Handler | undefined> | Handler | undefined;
  /** The first run begins with the evaluation of the code, whose pending work continues. */
  let isStarted = false;

  const start = (limits: string): void => {
    const read: GuestLimits = Object(parseJson(limits));
    consoleState.isFull = false;
    calls.start(read);
    timers.start(read.timers);
    ending.start(read);
  };

  return {
    load(wrapper, limits) {
      random.reset();
      start(limits);
      isStarted = true;
      ending.isWrapped = wrapper !== undefined;
      consoleState.isWrapped = ending.isWrapped;
      try {
        handler = wrapper ? findHandler(evaluate(wrapper, require)) : moduleHandler(host, ending, require);
        return handler !== undefined;
      } catch (thrown) {
        ending.threw(thrown);
        return false;
      }
    },
    call(args, hasApplication, limits) {
      if (!isStarted) start(limits);
      isStarted = false;
      const runAndFinish = async () => {
        try {
          const run = typeof handler === "function" ? handler : await handler;
          handler = run;
          if (run === undefined) return ending.exportsNothing();
          const req = Object(parseJson(toText(args)));
          if (hasApplication) req.bt = createBt(calls);
          ending.returned(await run(req));
        } catch (thrown) {
          // Caught here rather than by `catch` of the promise, which code could replace.
          ending.threw(thrown);
        }
      };
      void runAndFinish();
    },
    deliver: (number, payload) => calls.deliver(number, payload),
    fire: (number) => guarded(ending, () => timers.fire(number)),
    namesOf: (name) => writeJson(Object.keys(Object(require(name)))) ?? "[]",
  };
}

/** Makes `require`, and loads the modules that most code asks for: they are then in the snapshot. */
function installRequire(host: Host, calls: HostCalls, timers: Timers): Require {
  const require = createRequire(host, calls, timers);
  // For ES modules that wrap CommonJS modules, see engine/quickjs/module-loader.ts.
  define(globalThis, Symbol.for("cloakroom.require"), require);
  for (const name of ["crypto", "https", "stream", "util", "zlib", ...Object.keys(preloaded)]) require(name);
  return require;
}

interface GlobalParts {
  readonly host: Host;
  readonly random: RandomSource;
  readonly calls: HostCalls;
  readonly timers: Timers;
  readonly consoleState: ConsoleState;
  readonly ending: Ending;
}

function installGlobals({ host, random, calls, timers, consoleState, ending }: GlobalParts): void {
  const console = createConsole(host, consoleState);
  const intl = new HostIntl(host);
  connectProcess(
    (level, text) => console[level](text),
    () => host.memoryBytes(),
  );
  installNativeBufferCodecs();
  installLocaleMethods(intl);
  define(Math, "random", () => random.number());
  const globals = {
    global: globalThis,
    process,
    queueMicrotask: guardedMicrotasks(ending),
    AbortController,
    AbortSignal,
    Atomics: createAtomics(),
    Buffer,
    console,
    Event,
    EventTarget,
    fetch: createFetch(calls, () => Object(Reflect.get(globalThis, Symbol.for("cloakroom.require")))("zlib")),
    Headers,
    Intl: createIntl(intl),
    Request,
    Response,
    TextDecoder,
    URL: createUrlClass(host),
    URLSearchParams,
    ...timers.functions(),
  };
  for (const [name, value] of Object.entries(globals)) define(globalThis, name, value);
}

/** An uncaught error ends the run, as it would end a process of Node. */
function guarded(ending: Ending, callback: () => unknown): void {
  try {
    callback();
  } catch (thrown) {
    ending.threw(thrown);
  }
}

function guardedMicrotasks(ending: Ending) {
  const { queueMicrotask: queue } = globalThis;
  return (callback: unknown): void => {
    if (typeof callback !== "function") throw new TypeError('The "callback" argument must be of type function.');
    queue(() => guarded(ending, () => callback()));
  };
}

function define(target: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}

function evaluate(wrapper: ModuleWrapper, require: Require): unknown {
  const module: { exports: unknown } = { exports: {} };
  Reflect.apply(wrapper, module.exports, [module.exports, require, module, "/function.js", "/"]);
  return module.exports;
}

/** An ES module finds `require`, `module` and `exports` as globals: much code mixes both. */
async function moduleHandler(host: Host, ending: Ending, require: Require): Promise<Handler | undefined> {
  const module: { exports: unknown } = { exports: {} };
  define(globalThis, "require", require);
  define(globalThis, "module", module);
  define(globalThis, "exports", module.exports);
  try {
    return findHandler(await host.evaluateModule()) ?? findHandler(module.exports);
  } catch (thrown) {
    ending.threw(thrown);
    return undefined;
  }
}
