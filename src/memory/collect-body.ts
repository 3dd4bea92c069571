import type { Readable } from "node:stream";
import { BodyFault } from "./body-fault.js";
import { SMALL_BODY_BYTES } from "./body-sizes.js";
import type { RequestMemory, Reservation } from "./memory-lease.js";

type BodyMemory = Pick<RequestMemory, "isClosed" | "allowance" | "reserve">;

export interface BodyLimits {
  readonly maxBytes: number;
  /** Announced length in bytes; undefined if unknown. */
  readonly announced: number | undefined;
  /** Whether all announced bytes wait in the stream, followed by its end. */
  readonly hasArrived?: boolean | undefined;
  /** Ends the reading; its reason becomes the error. */
  readonly end?: ReadingEnd;
}

/** A condition that ends the reading of a body early, such as a deadline. */
export interface ReadingEnd {
  /** Undefined while the body may be read. */
  readonly reason: unknown;
  /** Sets the one listener; undefined removes it. */
  listen(listener: ((reason: unknown) => void) | undefined): void;
}

export function readingEndOf(signal: AbortSignal): ReadingEnd {
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

/** The body exceeds the size limit. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`a body has more than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/**
 * Reads the whole body of a caller within the caller's share of the memory. Reserves the announced length before it
 * reads: otherwise bodies would wait for each other's memory with half of it in hand. For an unknown length it reserves
 * a tiny, then a small, then the largest size, and keeps what the complete body needs. A refused body is left unread,
 * and not destroyed.
 * @throws {BodyTooLarge} or {IncompleteBody}; {BodyFault} if there is no memory for it or it does not arrive in time.
 */
export async function collectBody(body: Readable, memory: BodyMemory, limits: BodyLimits): Promise<Buffer> {
  const maxBytes = Math.min(limits.maxBytes, memory.allowance.maxBytes);
  const { announced, end } = limits;
  if (announced !== undefined && announced > maxBytes) throw new BodyTooLarge(maxBytes);
  const expected = announced ?? nextReservation(1, maxBytes);
  if (end?.reason !== undefined) throw end.reason;
  const reservation = reserved(memory, expected);
  if (limits.hasArrived && !(reservation instanceof Promise)) {
    const bytes: unknown = body.read();
    if (Buffer.isBuffer(bytes)) return bytes;
  }
  const first = reservation instanceof Promise ? await grantedBefore(end, reservation) : reservation;
  return new ArrivingBody(body, memory, maxBytes, { bytes: expected, first }).collect(end);
}

/** The first bytes of a body, and the paused stream of the rest. */
export interface BodyHead {
  readonly bytes: Buffer;
  /** Undefined if the body has ended. */
  readonly rest: Readable | undefined;
}

/**
 * Reads the first bytes of a body: at least as many as requested, unless it ends before. The stream of the rest is
 * paused.
 * @param announced remaining bytes; undefined if unknown.
 * @throws {IncompleteBody}; {BodyFault} if there is no memory for it or it does not arrive in time.
 */
export async function collectHead(
  body: Readable,
  memory: BodyMemory,
  wanted: number,
  announced: number | undefined,
): Promise<BodyHead> {
  const expected = Math.min(announced ?? nextReservation(1, wanted), wanted);
  const first = await reserved(memory, expected);
  const bytes = await new ArrivingBody(body, memory, wanted, { bytes: expected, first }).collect(undefined, wanted);
  return { bytes, rest: bytes.length < wanted ? undefined : body };
}

/**
 * @throws the reason that ended the reading meanwhile. A reservation granted later is released with the request's other
 * memory.
 */
async function grantedBefore(end: ReadingEnd | undefined, reservation: Promise<Reservation>): Promise<Reservation> {
  if (!end) return reservation;
  const ended = new Promise<never>((_, reject) => end.listen(reject));
  try {
    return await Promise.race([reservation, ended]);
  } finally {
    end.listen(undefined);
  }
}

/** Most RPC messages of unknown length are smaller. */
const TINY_BODY_BYTES = 4 * 1024;

/** The reservation for a body of unknown length after `size` bytes. */
export function nextReservation(size: number, maxBytes: number): number {
  const step = [TINY_BODY_BYTES, SMALL_BODY_BYTES].find((bytes) => size <= bytes) ?? maxBytes;
  return Math.min(step, maxBytes);
}

/** @throws {IncompleteBody} if the caller disconnects meanwhile. */
function reserved(memory: BodyMemory, bytes: number): Reservation | Promise<Reservation> {
  try {
    const reservation = memory.reserve(bytes);
    if (!(reservation instanceof Promise)) return reservation;
    return reservation.catch((refusal: unknown) => throwRefusal(memory, refusal));
  } catch (refusal) {
    return throwRefusal(memory, refusal);
  }
}

function throwRefusal({ isClosed }: BodyMemory, refusal: unknown): never {
  throw isClosed ? new IncompleteBody() : refusal;
}

/** An incomplete body must grow by PROGRESS_BYTES in this time: 6.5 KB/s. */
const PROGRESS_MS = 5_000;
const PROGRESS_BYTES = 32 * 1024;

/** Interval between checks of all bodies, in milliseconds. */
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

/** A body that has not arrived completely. */
class ArrivingBody {
  readonly #body: Readable;
  readonly #memory: BodyMemory;
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  readonly #whole = Promise.withResolvers<Buffer>();
  /** The last one is for `#reserved` bytes. */
  readonly #reservations: Reservation[];
  #reserved: number;
  #size = 0;
  /** Waits for memory, without reading. */
  #isWaiting = false;
  /** Number of bytes after which to stop. */
  #enough = Number.POSITIVE_INFINITY;
  #since = performance.now();
  #progressAt = this.#since;
  #progressSize = 0;

  constructor(
    body: Readable,
    memory: BodyMemory,
    maxBytes: number,
    reserved: { readonly bytes: number; readonly first: Reservation },
  ) {
    this.#body = body;
    this.#memory = memory;
    this.#maxBytes = maxBytes;
    this.#reserved = reserved.bytes;
    this.#reservations = [reserved.first];
  }

  /** @param enough number of bytes after which the rest is left unread. */
  async collect(end: ReadingEnd | undefined, enough = Number.POSITIVE_INFINITY): Promise<Buffer> {
    this.#enough = enough;
    end?.listen((reason) => this.#whole.reject(reason));
    this.#body.on("data", this.#take).on("end", this.#end).on("error", this.#breakOff).on("close", this.#breakOff);
    // If the caller disconnected, the bytes are lost and the stream emits no further event.
    if (this.#body.closed || this.#body.readableEnded || isAborted(this.#body)) this.#end();
    // Adding a listener does not resume a paused stream.
    else this.#body.resume();
    watch(this);
    try {
      const bytes = await this.#whole.promise;
      this.#releaseExcess();
      return bytes;
    } finally {
      unwatch(this);
      end?.listen(undefined);
      this.#body
        .off("data", this.#take)
        .off("end", this.#end)
        .off("error", this.#breakOff)
        .off("close", this.#breakOff);
      if (!this.#body.readableEnded) this.#body.pause();
    }
  }

  /** Refuses a body that takes too long: otherwise a caller could keep its share by withholding the last byte. */
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

  /** The body is larger than its reservation. */
  async #reserveMore(): Promise<void> {
    this.#body.pause();
    this.#isWaiting = true;
    try {
      while (this.#size > this.#reserved) {
        this.#reserved = nextReservation(this.#size, this.#maxBytes);
        this.#reservations.push(await reserved(this.#memory, this.#reserved));
      }
    } catch (refusal) {
      return this.#whole.reject(refusal);
    }
    this.#isWaiting = false;
    this.#noteProgress();
    this.#since = this.#progressAt;
    this.#body.resume();
  }

  #releaseExcess(): void {
    const last = this.#reservations.pop();
    for (const earlier of this.#reservations) earlier.shrink(0);
    last?.shrink(this.#size);
  }

  /** Another reader takes the rest, so no further chunk may be consumed in this turn of the event loop. */
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

  /** A reset HTTP/2 stream, or one whose connection breaks, emits `end` like a complete one. */
  readonly #end = (): void => {
    if (isAborted(this.#body) || !this.#body.readableEnded) this.#breakOff();
    else this.#whole.resolve(this.#bytes());
  };

  readonly #breakOff = (): void => {
    this.#whole.reject(this.#body.errored ?? new IncompleteBody());
  };
}

/** Only requests of HTTP/1.1 and HTTP/2 report this. */
function isAborted(body: Readable): boolean {
  return "aborted" in body && body.aborted === true;
}

function tooSlow(): BodyFault {
  return new BodyFault("too_slow", "malformed_body", "The body did not arrive in time.", {
    fields: { body: [`must be sent at ${Math.round(PROGRESS_BYTES / PROGRESS_MS)} KB a second or faster`] },
  });
}
