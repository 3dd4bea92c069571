import { pipeline, Readable } from "node:stream";
import type { Fault } from "../../base/fault.js";
import type { HeaderPair } from "../../egress/request-framing.js";
import type { GuardedStream } from "./guarded-body.js";

/** The part of a body that streams behind what was read of it, and what guards it. */
export interface StreamedRest {
  /** What follows the head, of what was read already. */
  readonly carried: Buffer;
  readonly stream: Readable;
  readonly guard: GuardedStream;
}

export interface OutgoingBodyParts {
  /** Length of what was read, before values were put in. */
  readonly headLength: number;
  /** What was read, with the values in it. */
  readonly head: () => Buffer;
  readonly rest?: StreamedRest;
  /** Sent in pieces of no stated length, as it came. */
  readonly isChunked?: boolean;
}

/** A body on its way to the destination. */
export interface SendableBody {
  /** Why the rest was broken off: it held what must not leave. */
  readonly refused: Fault | undefined;
  /**
   * The body as it is sent, with the headers that state its length. To be called once.
   * @throws {Fault} validation_failed where values do not fit.
   */
  send(headers: readonly HeaderPair[]): { readonly headers: readonly HeaderPair[]; readonly body: Readable | Buffer };
}

/** A body that is sent as it came, for a proxy that replaces no references. */
export function unsearchedBody(body: Readable | Buffer): SendableBody {
  return { refused: undefined, send: (headers) => ({ headers, body }) };
}

/** A body whose references were found. */
export class OutgoingBody implements SendableBody {
  readonly #parts: OutgoingBodyParts;

  constructor(parts: OutgoingBodyParts) {
    this.#parts = parts;
  }

  /** The bytes that were read, with the values in them. @throws {Fault} validation_failed where values do not fit. */
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
    // Each of them ends with the other.
    pipeline(stream, guard, () => {});
    return { headers: headers.map((header) => longer(header, head.length - headLength)), body: guard };
  }
}

function longer([name, value]: HeaderPair, by: number): HeaderPair {
  return name.toLowerCase() === "content-length" ? [name, String(Number(value) + by)] : [name, value];
}
