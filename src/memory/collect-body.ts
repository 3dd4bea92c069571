import type { Readable } from "node:stream";
import { BodyFault } from "./body-fault.js";
import { SMALL_BODY_BYTES } from "./body-sizes.js";
import type { RequestMemory } from "./memory-lease.js";

export interface BodyLimits {
  readonly maxBytes: number;
  /** Bytes that were announced; undefined where they were not. */
  readonly announced: number | undefined;
  /** Ends the reading. The body is then refused with its reason. */
  readonly end?: ReadingEnd;
}

/** What may end the reading of a body before its end: a deadline, for one. */
export interface ReadingEnd {
  /** Undefined while the body may be read. */
  readonly reason: unknown;
  /** Has one listener hear of the end; undefined removes it. */
  listen(listener: ((reason: unknown) => void) | undefined): void;
}

export function endOfSignal(signal: AbortSignal): ReadingEnd {
  let remove: (() => void) | undefined;
  return {
    get reason() {
      return signal.aborted ? signal.reason : undefined;
    },
    listen(listener) {
      remove?.();
      remove = undefined;
      if (!listener) return;
      const abort = () => listener(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      remove = () => signal.removeEventListener("abort", abort);
    },
  };
}

/** The body ended before it was complete. */
export class IncompleteBody extends Error {
  override readonly name = "IncompleteBody";
}

/** The body has more bytes than are taken. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`a body has more than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/**
 * Reads the whole body of a caller, within the caller's share of the memory. What is announced is reserved before anything is
 * read: otherwise bodies would wait for each other's memory with half of it in hand. A body of unknown length is reserved as a
 * tiny one, then as a small one, then as the largest.
 *
 * A body that is refused is left unread, and not destroyed.
 * @throws {BodyTooLarge} or {IncompleteBody}; {BodyFault} where there is no memory for it or it does not arrive in time.
 */
export async function collectBody(body: Readable, memory: RequestMemory, limits: BodyLimits): Promise<Buffer> {
  const maxBytes = Math.min(limits.maxBytes, memory.allowance.maxBytes);
  const { announced, end } = limits;
  if (announced !== undefined && announced > maxBytes) throw new BodyTooLarge(maxBytes);
  const expected = announced ?? stepFor(1, maxBytes);
  if (end?.reason !== undefined) throw end.reason;
  await reservedBefore(end, memory, expected);
  return new ArrivingBody(body, memory, maxBytes, expected).collect(end);
}

/** The first bytes of a body, and the stream of the others, which waits. */
export interface BodyHead {
  readonly bytes: Buffer;
  /** Undefined where the body has ended. */
  readonly rest: Readable | undefined;
}

/**
 * Reads the first bytes of a body: at least as many as are wanted, unless it ends before. The stream of the others is paused.
 * @param announced bytes to come; undefined where nobody said.
 * @throws {IncompleteBody}; {BodyFault} where there is no memory for it or it does not arrive in time.
 */
export async function collectHead(
  body: Readable,
  memory: RequestMemory,
  wanted: number,
  announced: number | undefined,
): Promise<BodyHead> {
  const expected = Math.min(announced ?? stepFor(1, wanted), wanted);
  await reserved(memory, expected);
  const bytes = await new ArrivingBody(body, memory, wanted, expected).collect(undefined, wanted);
  return { bytes, rest: bytes.length < wanted ? undefined : body };
}

/** @throws what ended the reading meanwhile. What is granted later is given back with the rest of the request's memory. */
async function reservedBefore(end: ReadingEnd | undefined, memory: RequestMemory, bytes: number): Promise<void> {
  if (!end) return reserved(memory, bytes);
  const ended = new Promise<never>((_, reject) => end.listen(reject));
  try {
    await Promise.race([reserved(memory, bytes), ended]);
  } finally {
    end.listen(undefined);
  }
}

/** Most messages of RPC, whose length is not announced, have fewer bytes. */
const TINY_BODY_BYTES = 4 * 1024;

/** What is reserved for a body of unknown length of which so many bytes have come. */
export function stepFor(size: number, maxBytes: number): number {
  const step = [TINY_BODY_BYTES, SMALL_BODY_BYTES].find((bytes) => size <= bytes) ?? maxBytes;
  return Math.min(step, maxBytes);
}

/** @throws {IncompleteBody} where the caller leaves meanwhile. */
async function reserved(memory: RequestMemory, bytes: number): Promise<void> {
  try {
    await memory.reserve(bytes);
  } catch (refusal) {
    throw memory.isClosed ? new IncompleteBody() : refusal;
  }
}

/** A body that is not complete must grow by so many bytes within such a time: 6.5 KB/s. */
const PROGRESS_MS = 5_000;
const PROGRESS_BYTES = 32 * 1024;

/** How often bodies are looked over, in milliseconds. */
const LOOK_EVERY_MS = 1_000;

const arriving = new Set<ArrivingBody>();
let looks: NodeJS.Timeout | undefined;

function watch(body: ArrivingBody): void {
  arriving.add(body);
  looks ??= setInterval(() => {
    const now = performance.now();
    for (const each of arriving) each.endOverdue(now);
  }, LOOK_EVERY_MS).unref();
}

function unwatch(body: ArrivingBody): void {
  arriving.delete(body);
  if (arriving.size > 0) return;
  clearInterval(looks);
  looks = undefined;
}

/** A body of which not all is there yet. */
class ArrivingBody {
  readonly #body: Readable;
  readonly #memory: RequestMemory;
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  readonly #whole = Promise.withResolvers<Buffer>();
  #reserved: number;
  #size = 0;
  /** For memory: nothing is read meanwhile. */
  #isWaiting = false;
  /** Bytes that are enough. */
  #enough = Number.POSITIVE_INFINITY;
  #since = performance.now();
  #progressAt = this.#since;
  #progressSize = 0;

  constructor(body: Readable, memory: RequestMemory, maxBytes: number, reserved: number) {
    this.#body = body;
    this.#memory = memory;
    this.#maxBytes = maxBytes;
    this.#reserved = reserved;
  }

  /** @param enough bytes after which the others are left unread. */
  async collect(end: ReadingEnd | undefined, enough = Number.POSITIVE_INFINITY): Promise<Buffer> {
    this.#enough = enough;
    end?.listen((reason) => this.#whole.reject(reason));
    this.#body
      .on("data", this.#take)
      .once("end", this.#end)
      .once("error", this.#breakOff)
      .once("close", this.#breakOff);
    // What had come of a body whose caller has left is gone, and nothing more is told of it.
    if (this.#body.closed || this.#body.readableEnded || isAborted(this.#body)) this.#end();
    // A listener starts no stream that was paused.
    else this.#body.resume();
    watch(this);
    try {
      return await this.#whole.promise;
    } finally {
      unwatch(this);
      end?.listen(undefined);
      this.#body
        .off("data", this.#take)
        .off("end", this.#end)
        .off("error", this.#breakOff)
        .off("close", this.#breakOff);
      this.#body.pause();
    }
  }

  /** Refuses a body that takes too long, so that nobody keeps a share by holding back its last byte. */
  endOverdue(now: number): void {
    if (this.#isWaiting) return;
    const isLate = now - this.#since > this.#memory.allowance.timeMs;
    if (isLate || now - this.#progressAt > PROGRESS_MS) this.#whole.reject(tooSlow());
  }

  readonly #take = (chunk: Buffer | string): void => {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
    this.#chunks.push(bytes);
    this.#size += bytes.length;
    if (this.#size - this.#progressSize >= PROGRESS_BYTES) this.#noteProgress();
    if (this.#size >= this.#enough) this.#stopAt(this.#bytes());
    else if (this.#size > this.#maxBytes) this.#whole.reject(new BodyTooLarge(this.#maxBytes));
    else if (this.#size > this.#reserved && !this.#isWaiting) void this.#reserveMore();
  };

  /** The body turned out to be larger than expected. */
  async #reserveMore(): Promise<void> {
    this.#body.pause();
    this.#isWaiting = true;
    try {
      while (this.#size > this.#reserved) {
        this.#reserved = stepFor(this.#size, this.#maxBytes);
        await reserved(this.#memory, this.#reserved);
      }
    } catch (refusal) {
      return this.#whole.reject(refusal);
    }
    this.#isWaiting = false;
    this.#noteProgress();
    this.#since = this.#progressAt;
    this.#body.resume();
  }

  /** What comes from now on is for others to read: no further chunk may be taken in this turn of the event loop. */
  #stopAt(bytes: Buffer): void {
    this.#body.off("data", this.#take).pause();
    this.#whole.resolve(bytes);
  }

  #bytes(): Buffer {
    const [only] = this.#chunks;
    return only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
  }

  #noteProgress(): void {
    this.#progressAt = performance.now();
    this.#progressSize = this.#size;
  }

  /** A stream of HTTP/2 that its caller resets, or whose connection breaks, ends like one that is complete. */
  readonly #end = (): void => {
    if (isAborted(this.#body) || !this.#body.readableEnded) this.#breakOff();
    else this.#whole.resolve(this.#bytes());
  };

  readonly #breakOff = (): void => {
    this.#whole.reject(this.#body.errored ?? new IncompleteBody());
  };
}

/** Requests of both versions of HTTP say so, and other streams do not. */
function isAborted(body: Readable): boolean {
  return "aborted" in body && body.aborted === true;
}

function tooSlow(): BodyFault {
  return new BodyFault("too_slow", "malformed_body", "The body did not arrive in time.", {
    fields: { body: [`must be sent at ${Math.round(PROGRESS_BYTES / PROGRESS_MS)} KB a second or faster`] },
  });
}
