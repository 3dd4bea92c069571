import { Buffer } from "node:buffer";
import type { Host } from "../host.js";

/** Calls of Node's own crypto in the worker. */
export class HostCrypto {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** @throws Error with the message of Node's crypto. */
  bytes(operation: string, parameters: object, data: Uint8Array = NOTHING): Buffer {
    const result = this.#call(operation, parameters, data);
    return typeof result === "string"
      ? Buffer.from(result)
      : Buffer.from(result.buffer, result.byteOffset, result.byteLength);
  }

  text(operation: string, parameters: object, data: Uint8Array = NOTHING): string {
    const result = this.#call(operation, parameters, data);
    return typeof result === "string" ? result : Buffer.from(result).toString("utf8");
  }

  random(count: number): Buffer {
    const bytes = this.#host.random(count);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #call(operation: string, parameters: object, data: Uint8Array): Uint8Array | string {
    const result = this.#host.crypto(operation, JSON.stringify(parameters), data);
    if (typeof result !== "string") return result;
    if (result.startsWith("!")) throw new Error(result.slice(1));
    return result.slice(1);
  }
}

const NOTHING = new Uint8Array(0);

/** The bytes of any data that Node's crypto accepts: text in an encoding, buffers and views. */
export function dataBytes(value: unknown, encoding?: unknown): Buffer {
  if (typeof value === "string") return Buffer.from(value, bufferEncoding(encoding));
  if (value instanceof ArrayBuffer) return Buffer.from(value);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError("The data argument must be of type string or an instance of Buffer, TypedArray, or DataView.");
}

export function base64(value: unknown, encoding?: unknown): string {
  return dataBytes(value, encoding).toString("base64");
}

/** The result as text if the caller named an encoding, otherwise as bytes. */
export function encoded(bytes: Buffer, encoding: unknown): Buffer | string {
  return encoding === undefined || encoding === null || encoding === "buffer"
    ? bytes
    : bytes.toString(bufferEncoding(encoding));
}

const ENCODINGS: readonly BufferEncoding[] = [
  "ascii",
  "utf8",
  "utf-8",
  "utf16le",
  "ucs2",
  "base64",
  "base64url",
  "latin1",
  "binary",
  "hex",
];

function bufferEncoding(encoding: unknown): BufferEncoding {
  const name = String(encoding ?? "utf8").toLowerCase();
  const known = ENCODINGS.find((candidate) => candidate === name);
  if (known === undefined) throw new TypeError(`Unknown encoding: ${name}`);
  return known;
}
