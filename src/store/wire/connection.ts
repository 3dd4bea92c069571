import type { Socket } from "node:net";
import { type Columns, RowReader } from "./columns.js";
import { type DescribedColumn, mismatchIn, readDescription } from "./described-column.js";
import { MessageReader } from "./message-reader.js";
import { MessageWriter } from "./message-writer.js";
import type { PreparedStatement } from "./prepared-statement.js";
import { ConnectionLost, type DatabaseError, isWarning, readServerError, UnreadableRow } from "./server-error.js";

/** One run of a statement in a step, with callbacks for its results. */
export interface Execution {
  readonly statement: PreparedStatement;
  /** The table that it writes. Not taken from database errors: on a distributed engine they name a shard. */
  readonly table?: string | undefined;
  writeValues(out: MessageWriter): void;
  /** Takes a row. `columns` is valid only during the call. */
  takeRow(columns: Columns, described: readonly DescribedColumn[]): void;
  /** Takes the command tag, such as `COMMIT` or `INSERT 0 1`, after all rows. */
  takeTag?(tag: string): void;
  /** Called for each warning of the database, before the tag. */
  takeWarning?(): void;
}

/** The result of a step. */
export type StepEnd =
  | { readonly kind: "done" }
  /**
   * A statement failed, and PostgreSQL skipped all later ones. An open transaction has failed and must be rolled back.
   * An error of our own while reading a row skips nothing.
   */
  | { readonly kind: "failed"; readonly error: unknown; readonly failed: Execution; readonly isOpen: boolean }
  /** The connection was lost. If the step `wasSent`, any part of it may have run. */
  | { readonly kind: "lost"; readonly error: unknown; readonly wasSent: boolean };

/** What to do about a step that does not end. */
export interface LateStep {
  readonly afterMs: number;
  readonly act: () => void;
}

/** A session that has just logged in. */
export interface Session {
  readonly socket: Socket;
  /** The database process; through a pooler, a number of the pooler's own. */
  readonly processId: number;
}

const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);
const TERMINATE = Buffer.from([0x58, 0, 0, 0, 4]);
/**
 * Statements that a session keeps. Lists are queried with many different texts, and a session with this many should be
 * renewed.
 */
const MAX_PREPARED = 2_000;

/**
 * A database session that runs prepared statements in steps: any number of them in one write with one Sync, which makes
 * a step one trip. It runs one step at a time.
 *
 * It never reconnects: a transaction is lost with its connection, and its owner must know.
 */
export class Connection {
  readonly processId: number;
  readonly #socket: Socket;
  readonly #out = new MessageWriter();
  readonly #rows = new RowReader();
  /** Descriptions by statement name. */
  readonly #prepared = new Map<string, readonly DescribedColumn[]>();
  /** Statements parsed by the step that is being written or is in flight. */
  readonly #parsing = new Set<string>();
  #step: Execution[] = [];
  /** The index of the execution that the next message belongs to. */
  #current = 0;
  #failure: { readonly error: unknown; readonly failed: Execution } | undefined;
  #lastError: DatabaseError | undefined;
  #resolve: ((end: StepEnd) => void) | undefined;
  #lost: { readonly error: unknown } | undefined;
  #late: NodeJS.Timeout | undefined;

  /** Takes over the session: no other code may read or write its socket afterwards. */
  constructor({ socket, processId }: Session) {
    this.processId = processId;
    this.#socket = socket;
    const reader = new MessageReader((type, bytes, start, end) => this.#take(type, bytes, start, end));
    socket.on("data", (chunk: Buffer) => {
      try {
        reader.read(chunk);
      } catch (error) {
        this.#lose(error);
      }
    });
    socket.on("error", (error) => this.#lose(error));
    socket.on("close", () => this.#lose(new ConnectionLost()));
    if (socket.destroyed) this.#lose(new ConnectionLost());
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** Whether it keeps so many statements that it should be renewed. */
  get isWornOut(): boolean {
    return this.#prepared.size > MAX_PREPARED;
  }

  /**
   * Adds a statement to the step.
   * @throws the error of `writeValues`, and leaves the step unchanged.
   */
  add(execution: Execution): void {
    const { statement } = execution;
    const { name } = statement;
    const isNew = name === "" || !(this.#prepared.has(name) || this.#parsing.has(name));
    const before = this.#out.length;
    try {
      if (isNew) this.#out.raw(statement.parsing);
      statement.run(this.#out, (out) => execution.writeValues(out));
    } catch (error) {
      this.#out.reset(before);
      throw error;
    }
    if (isNew) this.#parsing.add(name);
    this.#step.push(execution);
  }

  /** Discards the step that is being written. */
  discardStep(): void {
    this.#out.clear();
    this.#parsing.clear();
    this.#step = [];
  }

  /** Sends the step and waits for its end. Calls `late.act` again and again, after each `late.afterMs` without it. */
  send(late?: LateStep): Promise<StepEnd> {
    if (this.#resolve) throw new Error("a connection runs one step at a time");
    if (this.#lost || !this.#socket.writable) {
      this.discardStep();
      const error = this.#lost?.error ?? new ConnectionLost();
      return Promise.resolve({ kind: "lost", error, wasSent: false });
    }
    this.#out.raw(SYNC);
    const { chunks } = this.#out;
    if (chunks.length > 1) this.#socket.cork();
    for (const chunk of chunks) this.#socket.write(chunk);
    if (chunks.length > 1) this.#socket.uncork();
    if (late) this.#late = setInterval(late.act, late.afterMs);
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Drops the connection at once. A step in flight is lost. */
  drop(): void {
    this.#lose(new ConnectionLost());
  }

  /** Sends Terminate, which makes the database end its process at once. No step may be in flight. */
  end(): void {
    if (!this.#lost) this.#socket.end(TERMINATE, () => this.#socket.destroy());
    this.#lose(new ConnectionLost(), false);
  }

  #lose(error: unknown, isAtOnce = true): void {
    // PostgreSQL's last message says more than the end of the socket.
    this.#lost ??= { error: this.#lastError?.isFatal ? this.#lastError : error };
    if (isAtOnce) this.#socket.destroy();
    this.#finish({ kind: "lost", error: this.#lost.error, wasSent: true });
  }

  #finish(end: StepEnd): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    clearInterval(this.#late);
    this.discardStep();
    this.#current = 0;
    this.#failure = undefined;
    resolve?.(end);
  }

  #take(type: number, bytes: Buffer, start: number, end: number): void {
    switch (type) {
      case MESSAGE.dataRow:
        this.#takeRow(bytes, start);
        return;
      case MESSAGE.commandComplete:
        this.#running().takeTag?.(bytes.toString("latin1", start, end - 1));
        this.#current += 1;
        return;
      case MESSAGE.emptyQuery:
        this.#current += 1;
        return;
      case MESSAGE.rowDescription:
        this.#takeDescription(readDescription(bytes, start));
        return;
      case MESSAGE.noData:
        this.#takeDescription([]);
        return;
      case MESSAGE.readyForQuery:
        this.#takeReady(bytes[start] ?? 0);
        return;
      case MESSAGE.error:
        this.#lastError = readServerError(bytes, start, end);
        if (this.#resolve) this.#fail(this.#lastError);
        return;
      case MESSAGE.notice:
        if (isWarning(bytes, start, end)) this.#step[this.#current]?.takeWarning?.();
        return;
      case MESSAGE.parseComplete:
      case MESSAGE.bindComplete:
      case MESSAGE.parameterDescription:
      case MESSAGE.parameterStatus:
      case MESSAGE.notification:
        return;
      default:
        throw new Error(`the database sent a message of an unexpected type (${type})`);
    }
  }

  #running(): Execution {
    const execution = this.#step[this.#current];
    if (!execution) throw new Error("unexpected message without a pending statement");
    return execution;
  }

  #takeRow(bytes: Buffer, start: number): void {
    const execution = this.#running();
    if (this.#failure) return;
    // The number of columns comes first.
    this.#rows.moveTo(bytes, start + 2);
    try {
      execution.takeRow(this.#rows, this.#prepared.get(execution.statement.name) ?? []);
    } catch {
      this.#fail(new UnreadableRow("a row cannot be read as its statement reads it"));
    }
  }

  /** Only newly parsed statements are described. */
  #takeDescription(described: readonly DescribedColumn[]): void {
    const { statement } = this.#running();
    const problem = mismatchIn(statement, described);
    if (problem) this.#fail(new Error(problem));
    else this.#prepared.set(statement.name, described);
  }

  #fail(error: unknown): void {
    // An error after all results belongs to the end of the step.
    const failed = this.#step[this.#current] ?? this.#step.at(-1);
    if (failed) this.#failure ??= { error, failed };
  }

  #takeReady(status: number): void {
    if (!this.#resolve) throw new Error("unexpected ReadyForQuery");
    const failure = this.#failure;
    if (!failure && this.#current !== this.#step.length) throw new Error("the database left statements unanswered");
    this.#finish(failure ? { kind: "failed", ...failure, isOpen: status !== IDLE } : { kind: "done" });
  }
}

const MESSAGE = {
  parseComplete: code("1"),
  bindComplete: code("2"),
  notification: code("A"),
  commandComplete: code("C"),
  dataRow: code("D"),
  error: code("E"),
  emptyQuery: code("I"),
  notice: code("N"),
  parameterStatus: code("S"),
  rowDescription: code("T"),
  readyForQuery: code("Z"),
  noData: code("n"),
  parameterDescription: code("t"),
} as const;

/** The transaction status outside of a transaction. */
const IDLE = code("I");

function code(letter: string): number {
  return letter.charCodeAt(0);
}
