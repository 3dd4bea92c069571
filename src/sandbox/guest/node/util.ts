import util from "node:util";
import { TextDecoder } from "../web/text-decoder.js";
import { format, inspect } from "./inspect.js";

type Callback = (error: unknown, value?: unknown) => void;

const PROMISIFIED = Symbol.for("nodejs.util.promisify.custom");

/** As in Node, which returns a function's value under this symbol instead. */
function promisify(original: unknown): unknown {
  if (typeof original !== "function") throw new TypeError('The "original" argument must be of type function.');
  const custom: unknown = Reflect.get(original, PROMISIFIED);
  if (typeof custom === "function") return custom;
  const promised = function (this: unknown, ...args: unknown[]) {
    return new Promise((resolve, reject) => {
      const settle: Callback = (error, value) => (error ? reject(error) : resolve(value));
      Reflect.apply(original, this, [...args, settle]);
    });
  };
  Object.setPrototypeOf(promised, Object.getPrototypeOf(original));
  return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(original));
}

/** `require("util")`: the npm package with later additions of Node. @param load loads a module. */
export function createUtilModule(load: (name: string) => unknown) {
  return {
    ...util,
    format,
    inspect: Object.assign(inspect, { custom: Symbol.for("nodejs.util.inspect.custom"), defaultOptions: {} }),
    promisify: Object.assign(promisify, { custom: PROMISIFIED }),
    isDeepStrictEqual(a: unknown, b: unknown): boolean {
      try {
        Object(load("assert")).deepStrictEqual(a, b);
        return true;
      } catch {
        return false;
      }
    },
    stripVTControlCharacters: (text: unknown) => String(text).replace(TERMINAL_CODES, ""),
    toUSVString: (text: unknown) => String(text).toWellFormed(),
    TextDecoder,
    TextEncoder,
  };
}

/** Escape sequences of terminals: ESC, brackets and parameters up to the letter that ends them. */
const TERMINAL_CODES = new RegExp(`${String.fromCharCode(0x1b)}\\[[0-9;?]*[A-Za-z]`, "g");
