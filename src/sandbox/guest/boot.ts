import { preloaded } from "guest:packages";
import { Buffer } from "node:buffer";
import { createBt } from "./bt.js";
import { speedUpBuffer } from "./buffer.js";
import { ConsoleRoom, createConsole } from "./console.js";
import type { GuestLimits, Host } from "./host.js";
import { HostCalls } from "./host-calls.js";
import { createFetch, Request, Response } from "./http/fetch.js";
import { Headers } from "./http/headers.js";
import { parseJson, toBytes, toText, writeJson } from "./intrinsics.js";
import { installLocaleNumbers } from "./locale.js";
import { RandomSource } from "./random.js";
import { createRequire } from "./require.js";
import { describeThrown, isOutOfMemory } from "./thrown.js";
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
  installGlobals(host, random, calls, timers, room);
  const require = createRequire(host, calls, timers);
  for (const name of ["crypto", "axios", "https", ...Object.keys(preloaded)]) require(name);
  let handler: ((req: unknown) => unknown) | undefined;

  const start = (limits: string): GuestLimits => {
    const read = Object(parseJson(limits));
    room.isFull = false;
    calls.start(read);
    timers.start(read.timers);
    return read;
  };

  return {
    load(wrapper, limits) {
      random.reset();
      start(limits);
      try {
        handler = handlerOf(evaluate(wrapper, require));
        return handler !== undefined;
      } catch (thrown) {
        finishThrown(host, thrown);
        return false;
      }
    },
    call(args, hasApplication, limits) {
      const { resultBytes } = start(limits);
      const request = () => {
        const req = Object(parseJson(toText(args)));
        if (hasApplication) req.bt = createBt(calls);
        return handler?.(req);
      };
      void answer(host, request, resultBytes);
    },
    deliver: (number, payload) => calls.deliver(number, payload),
    fire: (number) => guarded(host, () => timers.fire(number)),
  };
}

function installGlobals(host: Host, random: RandomSource, calls: HostCalls, timers: Timers, room: ConsoleRoom): void {
  speedUpBuffer();
  installLocaleNumbers();
  define(Math, "random", () => random.number());
  const globals = {
    global: globalThis,
    queueMicrotask: guardedMicrotasks(host),
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
function guarded(host: Host, callback: () => unknown): void {
  try {
    callback();
  } catch (thrown) {
    finishThrown(host, thrown);
  }
}

function guardedMicrotasks(host: Host) {
  const { queueMicrotask: queue } = globalThis;
  return (callback: unknown): void => {
    if (typeof callback !== "function") throw new TypeError('The "callback" argument must be of type function.');
    queue(() => guarded(host, () => callback()));
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

async function answer(host: Host, request: () => unknown, resultBytes: number): Promise<void> {
  try {
    const value = await request();
    const text = writeJson(value) ?? "null";
    // UTF-8 is never shorter than the number of UTF-16 units, so the large are turned away before they are copied.
    const bytes = text.length > resultBytes ? undefined : toBytes(text);
    if (bytes === undefined || bytes.length > resultBytes) host.finish("too_large", NOTHING, NOTHING);
    else host.finish("returned", NOTHING, bytes);
  } catch (thrown) {
    finishThrown(host, thrown, resultBytes);
  }
}

function finishThrown(host: Host, thrown: unknown, resultBytes = Number.POSITIVE_INFINITY): void {
  try {
    const { report, body } = describeThrown(thrown);
    if (isOutOfMemory(thrown)) host.finish("memory", NOTHING, NOTHING);
    else if (body.length > resultBytes) host.finish("too_large", NOTHING, NOTHING);
    else host.finish("threw", toBytes(report), toBytes(body));
  } catch {
    // Describing what was thrown took more memory than there was.
    host.finish("memory", NOTHING, NOTHING);
  }
}

const NOTHING = new Uint8Array(0);
