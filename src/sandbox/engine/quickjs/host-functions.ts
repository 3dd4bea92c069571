import type { JSValueHandle, QuickJS } from "quickjs-wasi";
import { urlCall } from "../host-url.js";
import { zlibCall } from "../host-zlib.js";
import type { NativeFunctions } from "./native-functions.js";

/** The worker's side of guest/host.ts. Arguments may come from hostile code. */
export interface HostFunctions {
  readonly run: RunFunctions;
  readonly native: NativeFunctions;
}

export interface RunFunctions {
  finish(kind: string, report: Uint8Array, value: Uint8Array<ArrayBuffer>): void;
  send(number: number, payload: Uint8Array<ArrayBuffer>): void;
  setTimer(number: number, ms: number): void;
  clearTimer(number: number): void;
  /** @returns whether further output will be kept. */
  log(level: string, text: string): boolean;
  /** Evaluates code that is an ES module: a promise of what it exports. */
  evaluateModule(): JSValueHandle | undefined;
}

export const hostFunctionNames = [
  "finish",
  "send",
  "setTimer",
  "clearTimer",
  "log",
  "evaluateModule",
  "random",
  "crypto",
  "url",
  "zlib",
  "intl",
  "memoryBytes",
  "loadPackage",
] as const;
type HostFunctionName = (typeof hostFunctionNames)[number];

/** Longest text that is copied out of an instance. Longer texts count as empty. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * Registers the functions in a fresh or restored instance. None of them throws: the engine's message for an internal
 * error would show the guest paths of our files.
 */
export function registerHostFunctions(vm: QuickJS, { run, native }: HostFunctions): void {
  // The engine copies what a function returns and leaves the original to the caller, who cannot free it before the copy
  // is made.
  let returned = vm.undefined;
  const register = (name: HostFunctionName, call: (args: readonly JSValueHandle[]) => JSValueHandle | undefined) => {
    vm.registerHostCallback(name, (...args) => {
      returned.dispose();
      returned = vm.undefined;
      try {
        returned = call(args) ?? vm.undefined;
      } catch {
        // The argument was invalid. Honest code does not get here.
      }
      return returned;
    });
  };
  const registerEffect = (name: HostFunctionName, call: (args: readonly JSValueHandle[]) => void) =>
    register(name, (args) => {
      call(args);
      return undefined;
    });
  const handleOf = (result: Uint8Array | string) =>
    typeof result === "string" ? vm.newString(result) : vm.newUint8Array(result);
  registerEffect("finish", ([kind, report, value]) => run.finish(text(kind), bytes(report), bytes(value)));
  registerEffect("send", ([number, payload]) => run.send(whole(number), bytes(payload)));
  registerEffect("setTimer", ([number, ms]) => run.setTimer(whole(number), whole(ms)));
  registerEffect("clearTimer", ([number]) => run.clearTimer(whole(number)));
  register("log", ([level, line]) => (run.log(text(level), text(line)) ? vm.true : vm.false));
  register("evaluateModule", () => run.evaluateModule());
  register("random", ([count]) => vm.newUint8Array(native.random(whole(count))));
  register("crypto", ([operation, parameters, data]) =>
    handleOf(native.crypto(text(operation), text(parameters), bytes(data))),
  );
  register("url", ([request]) => vm.newString(urlCall(text(request))));
  register("zlib", ([operation, parameters, data]) =>
    handleOf(zlibCall(text(operation), text(parameters), bytes(data))),
  );
  register("intl", ([request]) => vm.newString(native.intl(text(request))));
  register("memoryBytes", () => vm.newNumber(native.memoryBytes()));
  register("loadPackage", ([name]) => {
    const bytecode = native.readPackage(text(name));
    return bytecode && vm.evalBytecode(bytecode);
  });
}

function text(handle: JSValueHandle | undefined): string {
  return handle?.isString && handle.length <= MAX_CHARACTERS ? handle.toString() : "";
}

function whole(handle: JSValueHandle | undefined): number {
  const value = handle?.isNumber ? handle.toNumber() : 0;
  return Number.isSafeInteger(value) ? value : 0;
}

/** A copy, at most as large as the memory of the instance. */
function bytes(handle: JSValueHandle | undefined): Uint8Array<ArrayBuffer> {
  return handle?.isObject ? new Uint8Array(handle.toArrayBuffer()) : new Uint8Array(0);
}
