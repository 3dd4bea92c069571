import type { Socket } from "node:net";
import { RowReader } from "./columns.js";
import { type DescribedColumn, mismatchIn, readDescription } from "./described-column.js";
import { MessageReader } from "./message-reader.js";
import { IDLE, MESSAGE } from "./message-types.js";
import { MessageWriter } from "./message-writer.js";
import { ConnectionLost, type DatabaseError, isWarning, readServerError, UnreadableRow } from "./server-error.js";
import { type Execution, type LateStep, NotPreparedYet, type StepEnd } from "./step.js";

export interface Session {
  readonly socket: Socket;
  /** The database process; through a pooler, a number of the pooler's own. */
  readonly processId: number;
}

/** A step that was sent, or will be sent with others. */
interface PendingStep {
  readonly executions: readonly Execution[];
  readonly resolve: (end: StepEnd) => void;
  failure: { readonly error: unknown; readonly failed: Execution | undefined } | undefined;
  hasWarned: boolean;
}

const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);
const TERMINATE = Buffer.from([0x58, 0, 0, 0, 4]);
/**
 * Statements that a session keeps. Lists are queried with many different texts, and a session with this many should be
 * renewed.
 */
const MAX_PREPARED = 2_000;

/**
 * A database session that runs prepared statements in steps: any number of them with one Sync. Steps that are sent
 * together, in a pipeline, make one trip. A failure skips the rest of its own step only, and a step outside of a
 * transaction block is a transaction. A pipeline ends before the next one is written.
 *
 * It never reconnects: a transaction is lost with its connection, and its owner must know.
 */
export class Connection {
  readonly processId: number;
  readonly #socket: Socket;
  readonly #out = new MessageWriter();
  readonly #rows = new RowReader();
  readonly #prepared = new Map<string, readonly DescribedColumn[]>();
  /** The step that is being written: its statements, those that it parses, and its start in {@link #out}. */
  #executions: Execution[] = [];
  readonly #parsing = new Set<string>();
  #start = 0;
  readonly #parsedBefore = new Set<string>();
  /** The steps of the pipeline that have no result yet. */
  readonly #pending: PendingStep[] = [];
  #isInFlight = false;
  /** The index of the execution that the next message belongs to, in the first pending step. */
  #current = 0;
  #lastError: DatabaseError | undefined;
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
   * @throws {NotPreparedYet} if another step of the pipeline parses it; the error of `writeValues`. Both leave the step
   *   unchanged.
   */
  add(execution: Execution): void {
    const { statement } = execution;
    const { name } = statement;
    const isNew = name === "" || !(this.#prepared.has(name) || this.#parsing.has(name));
    if (isNew && this.#parsedBefore.has(name)) throw new NotPreparedYet();
    const before = this.#out.length;
    try {
      if (isNew) this.#out.raw(statement.parsing);
      statement.run(this.#out, (out) => execution.writeValues(out));
    } catch (error) {
      this.#out.reset(before);
      throw error;
    }
    if (isNew) this.#parsing.add(name);
    this.#executions.push(execution);
  }

  get stepBytes(): number {
    return this.#out.sizeFrom(this.#start);
  }

  discardStep(): void {
    this.#out.reset(this.#start);
    this.#parsing.clear();
    this.#executions = [];
  }

  /** Ends the step that is being written, and waits for its result. {@link flush} sends it. */
  endStep(): Promise<StepEnd> {
    if (this.#isInFlight) throw new Error("a connection runs one pipeline at a time");
    this.#out.raw(SYNC);
    this.#start = this.#out.length;
    for (const name of this.#parsing) if (name !== "") this.#parsedBefore.add(name);
    this.#parsing.clear();
    const executions = this.#executions;
    this.#executions = [];
    return new Promise((resolve) => {
      this.#pending.push({ executions, resolve, failure: undefined, hasWarned: false });
    });
  }

  /**
   * Sends the steps of the pipeline. Calls `late.act` again and again, after each `late.afterMs` without the end of all
   * of them.
   */
  flush(late?: LateStep): void {
    if (this.#pending.length === 0) return;
    if (this.#lost || !this.#socket.writable) {
      this.#endAll({ kind: "lost", error: this.#lost?.error ?? new ConnectionLost(), wasSent: false });
      return;
    }
    this.#isInFlight = true;
    const { chunks } = this.#out;
    if (chunks.length > 1) this.#socket.cork();
    for (const chunk of chunks) this.#socket.write(chunk);
    if (chunks.length > 1) this.#socket.uncork();
    if (late) this.#late = setInterval(late.act, late.afterMs);
  }

  /** Sends the step alone, and waits for its end. */
  send(late?: LateStep): Promise<StepEnd> {
    const end = this.endStep();
    this.flush(late);
    return end;
  }

  /** Drops the connection at once. Steps in flight are lost. */
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
    if (this.#isInFlight) this.#endAll({ kind: "lost", error: this.#lost.error, wasSent: true });
  }

  #endAll(end: StepEnd): void {
    const ended = this.#pending.splice(0);
    this.#endPipeline();
    for (const { resolve } of ended) resolve(end);
  }

  #endPipeline(): void {
    this.#isInFlight = false;
    clearInterval(this.#late);
    this.#out.clear();
    this.#start = 0;
    this.discardStep();
    this.#parsedBefore.clear();
    this.#current = 0;
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
        if (this.#isInFlight) this.#fail(this.#lastError);
        return;
      case MESSAGE.notice:
        if (isWarning(bytes, start, end)) this.#takeWarning();
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
    const execution = this.#pending[0]?.executions[this.#current];
    if (!execution) throw new Error("unexpected message without a pending statement");
    return execution;
  }

  #takeRow(bytes: Buffer, start: number): void {
    const execution = this.#running();
    if (this.#pending[0]?.failure) return;
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

  #takeWarning(): void {
    const [step] = this.#pending;
    const execution = step?.executions[this.#current];
    if (execution) execution.takeWarning?.();
    else if (step) step.hasWarned = true;
  }

  #fail(error: unknown): void {
    const [step] = this.#pending;
    if (step) step.failure ??= { error, failed: step.executions[this.#current] };
  }

  #takeReady(status: number): void {
    const step = this.#isInFlight ? this.#pending.shift() : undefined;
    if (!step) throw new Error("unexpected ReadyForQuery");
    const { failure, executions, hasWarned } = step;
    if (!failure && this.#current !== executions.length) {
      this.#pending.unshift(step);
      throw new Error("the database left statements unanswered");
    }
    if (this.#pending.length === 0) this.#endPipeline();
    else this.#current = 0;
    step.resolve(failure ? { kind: "failed", ...failure, isOpen: status !== IDLE } : { kind: "done", hasWarned });
  }
}
