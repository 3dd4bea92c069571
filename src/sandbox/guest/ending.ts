import type { GuestLimits, Host } from "./host.js";
import { toBytes, writeJson } from "./intrinsics.js";
import { describeThrown, isOutOfMemory, type ThrownReport } from "./thrown.js";

const NOTHING = new Uint8Array(0);

/** Ends a run within its limit: larger results never leave the instance. */
export class Ending {
  readonly #host: Host;
  #resultBytes = 0;
  /** Whether the tenant's code is CommonJS, which is inside our wrapper function. */
  isWrapped = true;

  constructor(host: Host) {
    this.#host = host;
  }

  start({ resultBytes }: GuestLimits): void {
    this.#resultBytes = resultBytes;
  }

  /** @throws the value's own error when it is serialized to JSON. */
  returned(value: unknown): void {
    const text = writeJson(value) ?? "null";
    const bytes = this.#hasRoomFor(text) ? toBytes(text) : undefined;
    if (bytes && this.#hasRoomFor(bytes)) this.#host.finish("returned", NOTHING, bytes);
    else this.#host.finish("too_large", NOTHING, NOTHING);
  }

  exportsNothing(): void {
    this.#host.finish("not_a_function", NOTHING, NOTHING);
  }

  threw(thrown: unknown): void {
    try {
      const described = describeThrown(thrown, this.isWrapped);
      if (isOutOfMemory(thrown)) this.#host.finish("memory", NOTHING, NOTHING);
      else this.#report(described);
    } catch {
      // There was not enough memory to describe the thrown value.
      this.#host.finish("memory", NOTHING, NOTHING);
    }
  }

  #report({ report, body }: ThrownReport): void {
    const bytes = this.#hasRoomFor(report, body) ? { report: toBytes(report), body: toBytes(body) } : undefined;
    if (bytes && this.#hasRoomFor(bytes.report, bytes.body)) this.#host.finish("threw", bytes.report, bytes.body);
    else this.#host.finish("too_large", NOTHING, NOTHING);
  }

  /** UTF-8 is never shorter than the number of UTF-16 units, so large values are rejected before they are copied. */
  #hasRoomFor(part: Measured, other: Measured = NOTHING): boolean {
    return part.length + other.length <= this.#resultBytes;
  }
}

/** A text, or its bytes. */
interface Measured {
  readonly length: number;
}
