import { Buffer } from "node:buffer";

/** The labels of windows-1252, which the Encoding standard also uses for Latin-1 and ASCII. */
const WINDOWS_1252 = new Set(
  `ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1
  iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252`.split(/\s+/),
);

/** What windows-1252 has at 0x80 to 0x9f, where Latin-1 has control characters. */
const HIGH_CHARACTERS = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

interface DecoderOptions {
  readonly fatal?: boolean;
  readonly ignoreBOM?: boolean;
}

const EngineDecoder = globalThis.TextDecoder;

/** Undefined or null for no bytes. */
type Bytes = Parameters<InstanceType<typeof EngineDecoder>["decode"]>[0];

/** The engine's decoder of UTF-8 and UTF-16LE with Node's errors, and windows-1252 beside it. */
export class TextDecoder {
  readonly #engine: InstanceType<typeof EngineDecoder>;
  readonly #isWindows1252: boolean;

  constructor(label: unknown = "utf-8", options: DecoderOptions = {}) {
    const name = String(label).trim().toLowerCase();
    this.#isWindows1252 = WINDOWS_1252.has(name);
    try {
      this.#engine = new EngineDecoder(this.#isWindows1252 ? "utf-8" : name, options);
    } catch {
      const error = new RangeError(`The "${String(label)}" encoding is not supported`);
      throw Object.assign(error, { code: "ERR_ENCODING_NOT_SUPPORTED" });
    }
  }

  get encoding(): string {
    return this.#isWindows1252 ? "windows-1252" : this.#engine.encoding;
  }

  get fatal(): boolean {
    return this.#engine.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#engine.ignoreBOM;
  }

  get [Symbol.toStringTag](): string {
    return "TextDecoder";
  }

  decode(input?: Bytes, options?: { readonly stream?: boolean }): string {
    if (!isBytes(input ?? new ArrayBuffer(0))) {
      const error = new TypeError('The "list" argument must be an instance of ArrayBuffer or ArrayBufferView.');
      throw Object.assign(error, { code: "ERR_INVALID_ARG_TYPE" });
    }
    if (!this.#isWindows1252) return this.#decodeByEngine(input, options);
    return decodeWindows1252(input ?? new ArrayBuffer(0));
  }

  #decodeByEngine(input: Bytes, options: { readonly stream?: boolean } | undefined): string {
    try {
      return this.#engine.decode(input, options);
    } catch (thrown) {
      if (!this.fatal) throw thrown;
      const error = new TypeError(`The encoded data was not valid for encoding ${this.encoding}`);
      throw Object.assign(error, { code: "ERR_ENCODING_INVALID_ENCODED_DATA" });
    }
  }
}

function isBytes(input: unknown): boolean {
  return ArrayBuffer.isView(input) || input instanceof ArrayBuffer || input instanceof SharedArrayBuffer;
}

function decodeWindows1252(input: NonNullable<Bytes>): string {
  const bytes = ArrayBuffer.isView(input)
    ? Buffer.from(input.buffer, input.byteOffset, input.byteLength)
    : Buffer.from(input);
  return bytes.toString("latin1").replace(/[\x80-\x9f]/g, (at) => HIGH_CHARACTERS.charAt(at.charCodeAt(0) - 0x80));
}
