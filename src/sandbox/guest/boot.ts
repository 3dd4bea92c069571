import { preloaded } from "guest:packages";
import { Buffer } from "node:buffer";
import { createBt } from "./bt.js";
import { speedUpBuffer } from "./buffer.js";
import { ConsoleRoom, createConsole } from "./console.js";
import { Ending } from "./ending.js";
import type { GuestLimits, Host } from "./host.js";
import { HostCalls } from "./host-calls.js";
import { createFetch, Request, Response } from "./http/fetch.js";
import { Headers } from "./http/headers.js";
import { parseJson, toText } from "./intrinsics.js";
import { installLocaleNumbers } from "./locale.js";
import { RandomSource } from "./random.js";
import { createRequire } from "./require.js";
import { Timers } from "./timers.js";
import { createUrlClass } from "./url.js";
import { URLSearchParams } from "./url-search-params.js";

type ModuleWrapper = (exports: unknown, require: unknown, module: unknown, filename: string, dirname: string) => void;

/** What the worker calls in an instance. None of these throws, unless the engine itself stops the code. */
export interface Guest {
  /** Evaluates tenant code, wrapped into a function. False: it has ended the run itself, or exports no function. */
  readonly load: (wrapper: ModuleWrapper, limits: string) => boolean;
  /** Starts a run. Its end comes through `host.finish`. */
  readonly call: (args: Uint8Array, hasApplication: boolean, limits: string) => void;
  readonly deliver: (number: number, payload: Uint8Array) => void;
  readonly fire: (number: number) => void;
}

/** Builds the world that tenant code finds. Runs once, before the snapshot is taken: nothing here may be random or secret. */
export default function boot(host: Host): Guest {
  const random = new RandomSource(host);
  const calls = new HostCalls(host);
  const timers = new Timers(host);
  const room = new ConsoleRoom();
  const ending = new Ending(host);
  installGlobals({ host, random, calls, timers, room, ending });
  const require = createRequire(host, calls, timers);
  for (const name of ["crypto", "axios", "https", ...Object.keys(preloaded)]) require(name);
  let handler: ((req: unknown) => unknown) | undefined;

  const start = (limits: string): void => {
    const read: GuestLimits = Object(parseJson(limits));
    room.isFull = false;
    calls.start(read);
    timers.start(read.timers);
    ending.start(read);
  };

  return {
    load(wrapper, limits) {
      random.reset();
      start(limits);
      try {
        handler = handlerOf(evaluate(wrapper, require));
        return handler !== undefined;
      } catch (thrown) {
        ending.threw(thrown);
        return false;
      }
    },
    call(args, hasApplication, limits) {
      start(limits);
      const request = () => {
        const req = Object(parseJson(toText(args)));
        if (hasApplication) req.bt = createBt(calls);
        return handler?.(req);
      };
      void answer(ending, request);
    },
    deliver: (number, payload) => calls.deliver(number, payload),
    fire: (number) => guarded(ending, () => timers.fire(number)),
  };
}

interface GlobalParts {
  readonly host: Host;
  readonly random: RandomSource;
  readonly calls: HostCalls;
  readonly timers: Timers;
  readonly room: ConsoleRoom;
  readonly ending: Ending;
}

function installGlobals({ host, random, calls, timers, room, ending }: GlobalParts): void {
  speedUpBuffer();
  installLocaleNumbers();
  define(Math, "random", () => random.number());
  const globals = {
    global: globalThis,
    queueMicrotask: guardedMicrotasks(ending),
    Buffer,
    console: createConsole(host, room),
    fetch: createFetch(calls),
    Headers,
    Request,
    Response,
    URL: createUrlClass(host),
    URLSearchParams,
    ...timers.functions(),
  };
  for (const [name, value] of Object.entries(globals)) define(globalThis, name, value);
  // Without Atomics nothing can be done with it but measure.
  Reflect.deleteProperty(globalThis, "SharedArrayBuffer");
}

/** What nobody catches ends the run, as it would end a process of Node. */
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

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}

function evaluate(wrapper: ModuleWrapper, require: unknown): unknown {
  const module: { exports: unknown } = { exports: {} };
  Reflect.apply(wrapper, module.exports, [module.exports, require, module, "/function.js", "/"]);
  return module.exports;
}

/** `module.exports` itself, or what compiled ES modules export as default. */
function handlerOf(exports: unknown): ((req: unknown) => unknown) | undefined {
  const { default: byDefault } = Object(exports);
  const found = typeof exports === "function" ? exports : byDefault;
  return typeof found === "function" ? (req) => found(req) : undefined;
}

async function answer(ending: Ending, request: () => unknown): Promise<void> {
  try {
    ending.returned(await request());
  } catch (thrown) {
    ending.threw(thrown);
  }
}
