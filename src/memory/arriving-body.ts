import type { Readable } from "node:stream";
import { BodyTooLarge, IncompleteBody } from "./body-errors.js";
import { BodyFault, memoryRefused } from "./body-fault.js";
import { type BodyMemory, nextReservation, reserveBody } from "./body-reservation.js";
import type { ReadingEnd } from "./reading-end.js";
import type { Reservation } from "./request-memory.js";

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

export class ArrivingBody {
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
  #isComplete = false;
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
    const arrived = this.#memory.arrives?.(() => this.#whole.reject(memoryRefused("no_memory")));
    try {
      const bytes = await this.#whole.promise;
      this.#releaseExcess();
      return bytes;
    } finally {
      unwatch(this);
      arrived?.();
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
        this.#reservations.push(await reserveBody(this.#memory, this.#reserved));
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
    this.#complete(bytes);
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
    else this.#complete(this.#bytes());
  };

  #complete(bytes: Buffer): void {
    this.#isComplete = true;
    this.#whole.resolve(bytes);
  }

  readonly #breakOff = (): void => {
    // The stream of a complete body closes before its listeners are removed, and the stack of an error is dear.
    if (this.#isComplete) return;
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
