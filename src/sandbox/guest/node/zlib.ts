import { zlib as constants } from "guest:node-constants";
import { Buffer } from "node:buffer";
import { Transform } from "node:stream";
import { dataBytes } from "../crypto/host-crypto.js";
import type { Host } from "../host.js";

type Callback = (error: unknown, result?: Buffer) => void;

/** The worker's error for invalid data, in the form of Node's errors. */
class ZlibError extends Error {
  readonly code: string;
  readonly errno: number | undefined;

  constructor({ message, code, errno }: { readonly message: string; readonly code: string; readonly errno?: number }) {
    super(message);
    this.code = code;
    this.errno = errno;
  }
}

/** Operations by the name of the class that streams them. */
const operations: Readonly<Record<string, string>> = {
  Deflate: "deflate",
  DeflateRaw: "deflateRaw",
  Gzip: "gzip",
  Inflate: "inflate",
  InflateRaw: "inflateRaw",
  Gunzip: "gunzip",
  Unzip: "unzip",
  BrotliCompress: "brotliCompress",
  BrotliDecompress: "brotliDecompress",
};

/** `require("zlib")`, over Node's zlib in the worker. Streams buffer their data and output the result at their end. */
export function createZlibModule(host: Host) {
  const run = (operation: string, data: Uint8Array, options: unknown): Buffer => {
    const { level, memLevel, strategy, windowBits, maxOutputLength, params, finishFlush, dictionary } = Object(options);
    const given = { level, memLevel, strategy, windowBits, maxOutputLength, params, finishFlush };
    const parameters = JSON.stringify({ ...given, dictionary: dictionary && dataBytes(dictionary).toString("base64") });
    const result = host.zlib(operation, parameters, data);
    if (typeof result === "string") throw new ZlibError(JSON.parse(result));
    return Buffer.from(result.buffer, result.byteOffset, result.byteLength);
  };

  const exports: Record<string, unknown> = { constants, ...constants, codes: codeNames(constants) };
  for (const [name, operation] of Object.entries(operations)) {
    const sync = (data: unknown, options?: unknown) => run(operation, dataBytes(data), options);
    exports[`${operation}Sync`] = sync;
    exports[operation] = (data: unknown, ...rest: unknown[]) => later(rest.at(-1), () => sync(data, rest[0]));
    const type = streamClass(name, (data, options) => run(operation, data, options));
    exports[name] = type;
    exports[`create${name}`] = (options?: unknown) => new type(options);
  }
  return exports;
}

function streamClass(name: string, run: (data: Uint8Array, options: unknown) => Buffer) {
  const type = class extends Transform {
    readonly #options: unknown;
    readonly #chunks: Buffer[] = [];
    bytesWritten = 0;

    constructor(options?: unknown) {
      super(Object(options));
      this.#options = options;
    }

    override _transform(chunk: unknown, encoding: unknown, done: () => void): void {
      const bytes = dataBytes(chunk, encoding === "buffer" ? undefined : encoding);
      this.bytesWritten += bytes.length;
      this.#chunks.push(bytes);
      done();
    }

    override _flush(done: (error?: Error | null) => void): void {
      try {
        // Node, too, gives no output for no input when it inflates.
        if (this.bytesWritten > 0 || /^(Deflate|Gzip|BrotliC)/.test(name)) {
          this.push(run(Buffer.concat(this.#chunks), this.#options));
        }
        done();
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
      }
    }

    close(callback?: () => void): void {
      if (callback) queueMicrotask(callback);
      this.destroy();
    }
  };
  Object.defineProperty(type, "name", { value: name });
  return type;
}

function later(callback: unknown, compute: () => Buffer): void {
  if (typeof callback !== "function") throw new TypeError('The "callback" argument must be of type function.');
  const done: Callback = (error, result) => void callback(error, result);
  queueMicrotask(() => {
    let result: Buffer;
    try {
      result = compute();
    } catch (error) {
      done(error);
      return;
    }
    done(null, result);
  });
}

function codeNames(all: Readonly<Record<string, number>>): Record<string, string | number> {
  const results = [
    "Z_OK",
    "Z_STREAM_END",
    "Z_NEED_DICT",
    "Z_ERRNO",
    "Z_STREAM_ERROR",
    "Z_DATA_ERROR",
    "Z_MEM_ERROR",
    "Z_BUF_ERROR",
    "Z_VERSION_ERROR",
  ];
  const codes: Record<string, string | number> = {};
  for (const name of results) {
    const number = all[name] ?? 0;
    codes[name] = number;
    codes[String(number)] = name;
  }
  return codes;
}
