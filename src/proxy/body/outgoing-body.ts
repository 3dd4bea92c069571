import { pipeline, Readable } from "node:stream";
import type { Fault } from "../../base/fault.js";
import type { HeaderPair } from "../../egress/request-framing.js";
import type { GuardedStream } from "./guarded-body.js";

/** The part of a body that streams after the head, and its guard. */
export interface StreamedRest {
  /** Bytes that were read already and follow the head. */
  readonly carried: Buffer;
  readonly stream: Readable;
  readonly guard: GuardedStream;
}

export interface OutgoingBodyParts {
  /** Length of the head before references were replaced. */
  readonly headLength: number;
  readonly head: () => Buffer;
  readonly rest?: StreamedRest;
  /** Sent chunked, without a length. */
  readonly isChunked?: boolean;
}

export interface SendableBody {
  /** Why the rest was aborted: it had a reference. */
  readonly refused: Fault | undefined;
  /**
   * The body to send, with headers of its length. Call once.
   * @throws {Fault} validation_failed if a value does not fit its place.
   */
  send(headers: readonly HeaderPair[]): { readonly headers: readonly HeaderPair[]; readonly body: Readable | Buffer };
}

/** A body that is sent unchanged, for a proxy that replaces no references. */
export function unsearchedBody(body: Readable | Buffer): SendableBody {
  return { refused: undefined, send: (headers) => ({ headers, body }) };
}

export class OutgoingBody implements SendableBody {
  readonly #parts: OutgoingBodyParts;

  constructor(parts: OutgoingBodyParts) {
    this.#parts = parts;
  }

  /**
   * The bytes that were read, with references replaced. @throws {Fault} validation_failed if a value does not fit its
   * place.
   */
  get head(): Buffer {
    return this.#parts.head();
  }

  get refused(): Fault | undefined {
    return this.#parts.rest?.guard.refused;
  }

  send(headers: readonly HeaderPair[]): ReturnType<SendableBody["send"]> {
    const { headLength, rest, isChunked = false } = this.#parts;
    const { head } = this;
    if (!rest) return { headers, body: isChunked ? Readable.from(head.length > 0 ? [head] : []) : head };
    const { carried, stream, guard } = rest;
    guard.push(head);
    if (carried.length > 0) guard.write(carried);
    // Each stream is destroyed with the other.
    pipeline(stream, guard, () => {});
    return { headers: headers.map((header) => longer(header, head.length - headLength)), body: guard };
  }
}

function longer([name, value]: HeaderPair, by: number): HeaderPair {
  return name.toLowerCase() === "content-length" ? [name, String(Number(value) + by)] : [name, value];
}
