import { damaged, SECTION_END } from "./format.js";

/** The end of a row and of its section. Every written section has rows. */
const LAST = Buffer.concat([Buffer.from("\n"), SECTION_END]);
/** Longer than any of our lines except rows. */
const LONGEST = 1024 * 1024;

/** Reads lines and rows from a decompressed export that arrives in pieces of any size. */
export class ExportReader {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** The next line, including its end. */
  async line(): Promise<Buffer> {
    let end = this.#rest.indexOf(10);
    while (end < 0) {
      if (this.#rest.length > LONGEST || !(await this.#more())) throw damaged();
      end = this.#rest.indexOf(10);
    }
    return this.#take(end + 1);
  }

  /** The rows up to the end of the section, which is consumed too. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      const end = this.#rest.indexOf(LAST);
      if (end >= 0) {
        yield this.#take(end + 1);
        this.#take(SECTION_END.length);
        return;
      }
      // Bytes that may begin the end stay for the next read.
      const sure = this.#rest.length - LAST.length + 1;
      if (sure > 0) yield this.#take(sure);
      if (!(await this.#more())) throw damaged();
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
    const next = await this.#pieces.next().catch((error: unknown) => {
      throw isAboutCompression(error) ? damaged() : error;
    });
    if (next.done) return false;
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
    return true;
  }
}

/** Codes of zlib, such as Z_DATA_ERROR. Other errors are those of the source: a disk, or a network. */
function isAboutCompression(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("Z_");
}
