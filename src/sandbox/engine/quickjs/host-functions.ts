import type { JSValueHandle, QuickJS } from "quickjs-wasi";

/** What guest/host.ts names, on the side of the worker. Arguments are as tenant code may have made them. */
export interface HostFunctions {
  finish(kind: string, report: Uint8Array, value: Uint8Array<ArrayBuffer>): void;
  send(number: number, payload: Uint8Array<ArrayBuffer>): void;
  setTimer(number: number, ms: number): void;
  clearTimer(number: number): void;
  /** @returns whether more will be kept. */
  log(level: string, text: string): boolean;
  random(bytes: number): Uint8Array;
  crypto(operation: string, parameters: string, data: Uint8Array): Uint8Array | string;
  url(request: string): string;
  /** A script whose value is the function around the package. */
  loadPackage(name: string): Uint8Array | undefined;
}

export const hostFunctionNames = [
  "finish",
  "send",
  "setTimer",
  "clearTimer",
  "log",
  "random",
  "crypto",
  "url",
  "loadPackage",
] as const;
type HostFunctionName = (typeof hostFunctionNames)[number];

/** Longest text that is copied out of an instance. Anything longer is taken for empty. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/**
 * Connects the functions of a fresh or restored instance. None of them throws: what the engine would tell the guest of an
 * error of ours includes the paths of our files.
 */
export function registerHostFunctions(vm: QuickJS, functions: HostFunctions): void {
  // The engine copies what a function returns and leaves the original to us, who cannot free it before the copy is made.
  let returned = vm.undefined;
  const register = (name: HostFunctionName, run: (args: readonly JSValueHandle[]) => JSValueHandle | undefined) => {
    vm.registerHostCallback(name, (...args) => {
      returned.dispose();
      returned = vm.undefined;
      try {
        returned = run(args) ?? vm.undefined;
      } catch {
        // What was given was no argument at all. Honest code does not come here.
      }
      return returned;
    });
  };
  const registerEffect = (name: HostFunctionName, run: (args: readonly JSValueHandle[]) => void) =>
    register(name, (args) => {
      run(args);
      return undefined;
    });
  registerEffect("finish", ([kind, report, value]) => functions.finish(text(kind), bytes(report), bytes(value)));
  registerEffect("send", ([number, payload]) => functions.send(whole(number), bytes(payload)));
  registerEffect("setTimer", ([number, ms]) => functions.setTimer(whole(number), whole(ms)));
  registerEffect("clearTimer", ([number]) => functions.clearTimer(whole(number)));
  register("log", ([level, line]) => (functions.log(text(level), text(line)) ? vm.true : vm.false));
  register("random", ([count]) => vm.newUint8Array(functions.random(whole(count))));
  register("crypto", ([operation, parameters, data]) => {
    const result = functions.crypto(text(operation), text(parameters), bytes(data));
    return typeof result === "string" ? vm.newString(result) : vm.newUint8Array(result);
  });
  register("url", ([request]) => vm.newString(functions.url(text(request))));
  register("loadPackage", ([name]) => {
    const bytecode = functions.loadPackage(text(name));
    return bytecode && vm.evalBytecode(bytecode);
  });
}

function text(handle: JSValueHandle | undefined): string {
  return handle?.isString && handle.length <= MOST_CHARACTERS ? handle.toString() : "";
}

function whole(handle: JSValueHandle | undefined): number {
  const value = handle?.isNumber ? handle.toNumber() : 0;
  return Number.isSafeInteger(value) ? value : 0;
}

/** A copy, at most as large as the memory of the instance. */
function bytes(handle: JSValueHandle | undefined): Uint8Array<ArrayBuffer> {
  return handle?.isObject ? new Uint8Array(handle.toArrayBuffer()) : new Uint8Array(0);
}
