import { hash } from "node:crypto";
import type { ColumnKind } from "./columns.js";
import { MessageWriter } from "./message-writer.js";

/** A parameter: its type, and whether it travels as text (0) or in PostgreSQL's binary format (1). */
export interface ParameterKind {
  /** The type's oid; 0 leaves it to PostgreSQL. */
  readonly type: number;
  readonly format: 0 | 1;
}

const PARSE = "P".charCodeAt(0);
const BIND = "B".charCodeAt(0);
const DESCRIBE = "D".charCodeAt(0);
const EXECUTE = "E".charCodeAt(0);
const STATEMENT = "S".charCodeAt(0);

/**
 * A statement with all parts that are the same at each run, encoded once. A connection parses it at its first use and
 * then refers to it by name.
 */
export class PreparedStatement {
  /**
   * Derived from the text and the types. If a pooler gives one session to several clients, this name never runs a
   * statement with another text.
   */
  readonly name: string;
  readonly text: string;
  /** Parse, then Describe. */
  readonly parsing: Buffer;
  /** The columns that its rows are read as. Undefined: as the database describes them. */
  readonly columns: readonly ColumnKind[] | undefined;
  readonly #bindHead: Buffer;
  readonly #bindTail: Buffer;

  /** @param columns undefined: all columns travel as text, as the database describes them. */
  constructor(text: string, parameters: readonly ParameterKind[], columns?: readonly ColumnKind[], name?: "") {
    this.text = text;
    this.columns = columns;
    const types = parameters.map(({ type }) => type);
    this.name = name ?? `c${hash("sha256", `${types.join()} ${text}`, "hex").slice(0, 24)}`;
    this.parsing = parsingOf(this.name, text, types);
    this.#bindHead = bindHeadOf(this.name, parameters);
    this.#bindTail = bindTailOf(columns ?? []);
  }

  /** A statement that is parsed each time and not kept. */
  static unnamed(text: string): PreparedStatement {
    return new PreparedStatement(text, [], [], "");
  }

  /** Writes Bind and Execute. `writeValues` writes the values of the parameters in order. */
  run(out: MessageWriter, writeValues: (out: MessageWriter) => void): void {
    const message = out.beginMessage(BIND);
    out.raw(this.#bindHead);
    writeValues(out);
    out.raw(this.#bindTail);
    out.endMessage(message);
    out.raw(EXECUTE_ALL);
  }
}

/** Execute the unnamed portal, for all of its rows. */
const EXECUTE_ALL = encoded((out) => {
  const message = out.beginMessage(EXECUTE);
  out.cString("");
  out.int32(0);
  out.endMessage(message);
});

function parsingOf(name: string, text: string, types: readonly number[]): Buffer {
  return encoded((out) => {
    const parse = out.beginMessage(PARSE);
    out.cString(name);
    out.cString(text);
    out.int16(types.length);
    for (const type of types) out.int32(type);
    out.endMessage(parse);
    const describe = out.beginMessage(DESCRIBE);
    out.byte(STATEMENT);
    out.cString(name);
    out.endMessage(describe);
  });
}

function bindHeadOf(name: string, parameters: readonly ParameterKind[]): Buffer {
  return encoded((out) => {
    // The unnamed portal.
    out.cString("");
    out.cString(name);
    out.int16(parameters.length);
    for (const { format } of parameters) out.int16(format);
    out.int16(parameters.length);
  });
}

function bindTailOf(columns: readonly ColumnKind[]): Buffer {
  return encoded((out) => {
    out.int16(columns.length);
    for (const { format } of columns) out.int16(format);
  });
}

function encoded(write: (out: MessageWriter) => void): Buffer {
  const out = new MessageWriter();
  write(out);
  return Buffer.concat(out.chunks);
}
