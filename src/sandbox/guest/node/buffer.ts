/// <reference lib="esnext.typedarrays" />
import { Buffer } from "node:buffer";
import { toBytes, toText } from "../intrinsics.js";

/**
 * The `buffer` package is plain JavaScript, some forty times slower in this engine than in V8. UTF-8, base64 and hex
 * use the engine's native functions instead, and so does `base64url`, which the package lacks.
 */
export function installNativeBufferCodecs(): void {
  const { from, byteLength, isEncoding } = Buffer;
  const { toString: decode, write } = Buffer.prototype;

  replace(Buffer, "from", function (this: unknown, value: unknown, second: unknown, third: unknown) {
    if (typeof value === "string") {
      const bytes = fromText(value, encodingName(second));
      if (bytes) return Reflect.apply(from, Buffer, [bytes.buffer, bytes.byteOffset, bytes.byteLength]);
    }
    return Reflect.apply(from, Buffer, [value, typeof value === "string" ? known(second) : second, third]);
  });

  replace(Buffer.prototype, "toString", function (this: Uint8Array, encoding: unknown, start: unknown, end: unknown) {
    const name = encodingName(encoding);
    const part =
      start === undefined && end === undefined ? this : this.subarray(index(start, 0), index(end, this.length));
    switch (name) {
      case "utf8":
        return toText(part);
      case "hex":
        return part.toHex();
      case "base64":
        return part.toBase64();
      case "base64url":
        return part.toBase64({ alphabet: "base64url", omitPadding: true });
      default:
        return Reflect.apply(decode, this, [encoding, start, end]);
    }
  });

  replace(Buffer.prototype, "write", function (this: unknown, ...args: unknown[]) {
    const last = args.length - 1;
    return Reflect.apply(write, this, last > 0 ? [...args.slice(0, last), known(args[last])] : args);
  });
  replace(Buffer, "byteLength", (value: unknown, encoding: unknown) =>
    typeof value === "string" && encodingName(encoding) === "utf8"
      ? toBytes(value).length
      : Reflect.apply(byteLength, Buffer, [value, known(encoding)]),
  );
  replace(
    Buffer,
    "isEncoding",
    (encoding: unknown) => encodingName(encoding) === "base64url" || Reflect.apply(isEncoding, Buffer, [encoding]),
  );
}

/** Undefined where the package has to read the text. */
function fromText(text: string, encoding: string): Uint8Array | undefined {
  switch (encoding) {
    case "utf8":
      return toBytes(text);
    case "hex":
      // Node decodes up to the first character that is not hex.
      return Uint8Array.fromHex(/^([\da-f]{2})*/i.exec(text)?.[0] ?? "");
    case "base64":
      return strictly(() => Uint8Array.fromBase64(text));
    case "base64url":
      return strictly(() => Uint8Array.fromBase64(text, { alphabet: "base64url" }));
    default:
      return undefined;
  }
}

function encodingName(encoding: unknown): string {
  if (encoding === undefined || encoding === null) return "utf8";
  const name = String(encoding).toLowerCase();
  return name === "utf-8" ? "utf8" : name;
}

/** The package decodes base64url like base64. */
function known(encoding: unknown): unknown {
  return encodingName(encoding) === "base64url" ? "base64" : encoding;
}

function index(value: unknown, missing: number): number {
  return value === undefined ? missing : Math.max(Math.trunc(Number(value)) || 0, 0);
}

/** Node ignores characters that are not base64; the engine does not. The package does as Node does. */
function strictly(read: () => Uint8Array): Uint8Array | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function replace(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}
