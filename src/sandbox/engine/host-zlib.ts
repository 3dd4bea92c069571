import zlib from "node:zlib";
import type { JsonObject } from "../../base/json.js";
import { object, parseWireJson } from "../wire/shape.js";
import { byteParameter, optionalWhole } from "./host-crypto/parameters.js";

/** The largest bodies that code sees have 5 MB, and the largest results of the host 10 MB. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Compression runs natively, where no deadline can stop it, and some data takes much longer than other: 8 MB of random bits 24 s
 * at level 9 of zlib, 1 MB of long runs 3 s at quality 11 of Brotli. So the effort goes down with the size, to less than half a
 * second for each. What comes out is larger and as valid.
 */
const DEFLATE_LEVELS = [
  { upTo: 128 * 1024, level: 9 },
  { upTo: 2 * 1024 * 1024, level: 6 },
  { upTo: MAX_BYTES, level: 1 },
] as const;
const BROTLI_QUALITIES = [
  { upTo: 128 * 1024, quality: 11 },
  { upTo: 2 * 1024 * 1024, quality: 9 },
  { upTo: MAX_BYTES, quality: 4 },
] as const;
const DEFAULT_LEVEL = 6;

type Compress = (data: Uint8Array, options: zlib.ZlibOptions) => Buffer;
type Decompress = (data: Uint8Array, options: zlib.ZlibOptions) => Buffer;

const deflaters: ReadonlyMap<string, Compress> = new Map([
  ["deflate", zlib.deflateSync],
  ["deflateRaw", zlib.deflateRawSync],
  ["gzip", zlib.gzipSync],
]);
const inflaters: ReadonlyMap<string, Decompress> = new Map([
  ["inflate", zlib.inflateSync],
  ["inflateRaw", zlib.inflateRawSync],
  ["gunzip", zlib.gunzipSync],
  ["unzip", zlib.unzipSync],
]);

/**
 * One call of the guest's `zlib` module.
 *
 * @returns the result, or the error as JSON: `{message, code, errno}`.
 */
export function zlibCall(operation: string, parameters: string, data: Uint8Array): Uint8Array | string {
  try {
    if (data.length > MAX_BYTES) throw new RangeError(`Data of more than ${MAX_BYTES} bytes is not supported here.`);
    return run(operation, object(parseWireJson(Buffer.from(parameters))), data);
  } catch (error) {
    const { message, code, errno }: { message?: unknown; code?: unknown; errno?: unknown } = Object(error);
    return JSON.stringify({ message: String(message ?? "the call failed"), code: String(code ?? "ERR_ZLIB"), errno });
  }
}

function run(operation: string, parameters: JsonObject, data: Uint8Array): Buffer {
  const deflate = deflaters.get(operation);
  if (deflate) return deflate(data, { ...shared(parameters), level: levelOf(parameters, data.length) });
  const inflate = inflaters.get(operation);
  if (inflate) return inflate(data, { ...shared(parameters), maxOutputLength: maxOutput(parameters) });
  if (operation === "brotliCompress")
    return zlib.brotliCompressSync(data, { params: brotliParameters(parameters, data.length) });
  if (operation === "brotliDecompress")
    return zlib.brotliDecompressSync(data, { maxOutputLength: maxOutput(parameters) });
  throw new Error(`Unknown operation ${operation}`);
}

/** Options that zlib accepts in both directions, without those that only control memory use. */
function shared(parameters: JsonObject): zlib.ZlibOptions {
  const strategy = optionalWhole(parameters, "strategy", 0, 4);
  const windowBits = optionalWhole(parameters, "windowBits", 0, 15);
  const finishFlush = optionalWhole(parameters, "finishFlush", 0, 6);
  return {
    ...(strategy === undefined ? {} : { strategy }),
    ...(windowBits === undefined ? {} : { windowBits }),
    ...(finishFlush === undefined ? {} : { finishFlush }),
    ...(parameters.dictionary === undefined ? {} : { dictionary: byteParameter(parameters, "dictionary") }),
  };
}

function levelOf(parameters: JsonObject, bytes: number): number {
  const wanted = optionalWhole(parameters, "level", -1, 9) ?? -1;
  const most = DEFLATE_LEVELS.find(({ upTo }) => bytes <= upTo)?.level ?? 1;
  return Math.min(wanted === -1 ? DEFAULT_LEVEL : wanted, most);
}

/** A bomb of a few bytes may inflate to any size: the limit applies whatever the code requests. */
function maxOutput(parameters: JsonObject): number {
  return Math.min(optionalWhole(parameters, "maxOutputLength", 1, 2 ** 40) ?? MAX_BYTES, MAX_BYTES);
}

function brotliParameters(parameters: JsonObject, bytes: number): Record<number, number> {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_MODE, BROTLI_PARAM_LGWIN } = zlib.constants;
  const given: JsonObject = parameters.params === undefined ? {} : object(parameters.params);
  const most = BROTLI_QUALITIES.find(({ upTo }) => bytes <= upTo)?.quality ?? 4;
  const mode = optionalWhole(given, String(BROTLI_PARAM_MODE), 0, 2);
  const window = optionalWhole(given, String(BROTLI_PARAM_LGWIN), 10, 24);
  return {
    [BROTLI_PARAM_QUALITY]: Math.min(optionalWhole(given, String(BROTLI_PARAM_QUALITY), 0, 11) ?? most, most),
    ...(mode === undefined ? {} : { [BROTLI_PARAM_MODE]: mode }),
    ...(window === undefined ? {} : { [BROTLI_PARAM_LGWIN]: window }),
  };
}
