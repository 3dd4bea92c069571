import { damaged, SECTION_END } from "./format.js";

/** A row's end and the section's: a section that is written has rows. */
const LAST = Buffer.concat([Buffer.from("\n"), SECTION_END]);
/** Longer than any line of ours but rows. */
const LONGEST = 1024 * 1024;

/** Takes lines and rows from an unpacked export, whatever pieces it comes in. */
export class Unpacked {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** The next line with its end. */
  async line(): Promise<Buffer> {
    let end = this.#rest.indexOf(10);
    while (end < 0) {
      if (this.#rest.length > LONGEST || !(await this.#more())) throw damaged();
      end = this.#rest.indexOf(10);
    }
    return this.#take(end + 1);
  }

  /** The rows up to the end of the section, which is taken too. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      const end = this.#rest.indexOf(LAST);
      if (end >= 0) {
        yield this.#take(end + 1);
        this.#take(SECTION_END.length);
        return;
      }
      // What may be the beginning of the end stays for the next look.
      const sure = this.#rest.length - LAST.length + 1;
      if (sure > 0) yield this.#take(sure);
      if (!(await this.#more())) throw damaged();
    }
  }

  /** Whether all that follows unpacks to the sum that gzip has of it. Nothing can be taken afterwards. */
  async isWhole(): Promise<boolean> {
    try {
      while (await this.#more()) this.#rest = Buffer.alloc(0);
      return true;
    } catch {
      return false;
    }
  }

  async isAtEnd(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#more());
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }

  async #more(): Promise<boolean> {
    const next = await this.#pieces.next().catch(() => {
      // Packed bytes that do not unpack.
      throw damaged();
    });
    if (next.done) return false;
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
    return true;
  }
}
