/** One message of PostgreSQL's protocol (version 3), as it went over the wire. */
export interface Frame {
  readonly bytes: Buffer;
  /** The text of the statement that the database is to run when it gets this message: a simple query, or a Sync. */
  readonly runs?: string;
  /** The state of the transaction (I idle, T open, E failed) after an answer has ended. */
  readonly ready?: string;
}

/** Cuts one direction of a connection into messages, and remembers what prepared statements are called. */
export class FrameReader {
  readonly #side: "client" | "database";
  readonly #texts = new Map<string, string>();
  #rest: Buffer = Buffer.alloc(0);
  #isStarted: boolean;
  /** What the next Sync runs. */
  #bound: string | undefined;

  constructor(side: "client" | "database") {
    this.#side = side;
    // A client begins with a message that has no type byte.
    this.#isStarted = side === "database";
  }

  *read(chunk: Buffer): Generator<Frame> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const header = this.#isStarted ? 1 : 0;
      if (this.#rest.length < header + 4) return;
      const size = header + this.#rest.readUInt32BE(header);
      if (this.#rest.length < size) return;
      const bytes = this.#rest.subarray(0, size);
      this.#rest = this.#rest.subarray(size);
      const frame = header === 0 ? { bytes } : this.#side === "client" ? this.#sent(bytes) : answered(bytes);
      this.#isStarted = true;
      yield frame;
    }
  }

  #sent(bytes: Buffer): Frame {
    switch (String.fromCharCode(bytes[0] ?? 0)) {
      case "Q":
        return { bytes, runs: textAt(bytes, 5) };
      case "P": {
        const name = textAt(bytes, 5);
        this.#bound = textAt(bytes, 6 + name.length);
        this.#texts.set(name, this.#bound);
        return { bytes };
      }
      case "B": {
        const portal = textAt(bytes, 5);
        this.#bound = this.#texts.get(textAt(bytes, 6 + portal.length));
        return { bytes };
      }
      case "S": {
        const runs = this.#bound ?? "";
        this.#bound = undefined;
        return { bytes, runs };
      }
      default:
        return { bytes };
    }
  }
}

function answered(bytes: Buffer): Frame {
  const isReady = bytes[0] === "Z".charCodeAt(0);
  return isReady ? { bytes, ready: String.fromCharCode(bytes[5] ?? 0) } : { bytes };
}

/** A text that ends with a zero byte. Names and SQL are ASCII here, so that bytes count as characters. */
function textAt(bytes: Buffer, offset: number): string {
  return bytes.toString("latin1", offset, bytes.indexOf(0, offset));
}
