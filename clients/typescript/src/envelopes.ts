import { AttemptError } from "./errors.js";

/** One byte of flags and four of length before each message, in gRPC and in streams of Connect. */
const PREFIX_BYTES = 5;
/** A stream with a longer message is not one of ours. */
const MAX_BYTES = 64 * 1024 * 1024;

export interface Envelope {
  readonly flags: number;
  readonly content: Uint8Array;
}

/** Cuts a stream of bytes into its messages. */
export class Envelopes {
  #rest: Uint8Array = new Uint8Array(0);

  /** @throws {AttemptError} for a stream that cannot be one of the server. */
  *read(chunk: Uint8Array): Generator<Envelope> {
    this.#rest = joined(this.#rest, chunk);
    while (this.#rest.length >= PREFIX_BYTES) {
      const view = new DataView(this.#rest.buffer, this.#rest.byteOffset, PREFIX_BYTES);
      const end = PREFIX_BYTES + view.getUint32(1);
      if (end > MAX_BYTES)
        throw new AttemptError({ code: "bad_answer", message: "The stream has a message without end." });
      if (this.#rest.length < end) return;
      const content = this.#rest.subarray(PREFIX_BYTES, end);
      const flags = view.getUint8(0);
      this.#rest = this.#rest.subarray(end);
      yield { flags, content };
    }
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  if (one.length === 0) return other;
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
