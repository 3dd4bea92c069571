/** One message of PostgreSQL's protocol (version 3), as it went over the wire. */
export interface Frame {
  readonly bytes: Buffer;
  /** The text of the statement that this message runs: a simple query, or an Execute. */
  readonly runs?: string;
  /** Whether the database must respond now: a simple query, or a Sync. */
  readonly ends?: boolean;
  /** Whether the database has run a statement, or failed at it. */
  readonly ran?: boolean;
  /** The transaction's state (I idle, T open, E failed) at the end of a response. */
  readonly ready?: string;
}

/** The tenant is a parameter there. It is shown as Citus sees it, to distinguish transactions. */
const SETS_TENANT = "set_config('app.tenant_id', $1";

/** Splits one direction of a connection into messages, and remembers the names of prepared statements. */
export class FrameReader {
  readonly #side: "client" | "database";
  readonly #texts = new Map<string, string>();
  #rest: Buffer = Buffer.alloc(0);
  #isStarted: boolean;
  /** The statement that the next Execute runs. */
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
      const frame = header === 0 ? { bytes } : this.#side === "client" ? this.#sent(bytes) : responseFrame(bytes);
      this.#isStarted = true;
      yield frame;
    }
  }

  #sent(bytes: Buffer): Frame {
    switch (String.fromCharCode(bytes[0] ?? 0)) {
      case "Q":
        return { bytes, runs: textAt(bytes, 5), ends: true };
      case "P": {
        const name = textAt(bytes, 5);
        this.#texts.set(name, textAt(bytes, 6 + name.length));
        return { bytes };
      }
      case "B": {
        const portal = textAt(bytes, 5);
        const name = textAt(bytes, 6 + portal.length);
        const text = this.#texts.get(name);
        const values = 7 + portal.length + name.length;
        this.#bound = text?.includes(SETS_TENANT) ? settingsOf(text, firstValue(bytes, values)) : text;
        return { bytes };
      }
      case "E":
        return { bytes, runs: this.#bound ?? "" };
      case "S":
        return { bytes, ends: true };
      default:
        return { bytes };
    }
  }
}

function responseFrame(bytes: Buffer): Frame {
  switch (String.fromCharCode(bytes[0] ?? 0)) {
    case "Z":
      return { bytes, ready: String.fromCharCode(bytes[5] ?? 0) };
    case "C":
    case "I":
    case "E":
      return { bytes, ran: true };
    default:
      return { bytes };
  }
}

/** How the settings of a transaction read in a record. */
function settingsOf(text: string, tenant: string): string {
  const isPipelined = text.includes("synchronous_commit");
  return `set local app.tenant_id = '${tenant}'${isPipelined ? ", synchronous_commit = 'off'" : ""}`;
}

/** A zero-terminated text. Names and SQL are ASCII here, so bytes count as characters. */
function textAt(bytes: Buffer, offset: number): string {
  return bytes.toString("latin1", offset, bytes.indexOf(0, offset));
}

/** The first value of a Bind message, whose formats begin at an offset. */
function firstValue(bytes: Buffer, offset: number): string {
  const values = offset + 2 + 2 * bytes.readUInt16BE(offset) + 2;
  return bytes.toString("utf8", values + 4, values + 4 + bytes.readInt32BE(values));
}
