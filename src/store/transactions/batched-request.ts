import type { TenantId } from "../../base/ids.js";
import type { Engine } from "../postgres/open-connection.js";
import type { Receiver, Statement, StatementBatch } from "../statements/statement-batch.js";
import type { LargeReads } from "./large-reads.js";
import type { CommitMarker, OrdinaryTransaction, RowLock, TransactionStart, Work } from "./transaction.js";

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

interface Wanted {
  readonly kind: Statement<never, never>["kind"];
  /** Whether its output tells if it has written anything. */
  readonly isQuery: boolean;
  joinTo(batch: StatementBatch): void;
}

/** A statement with its input. A class, because each would make a function of its own. */
class WantedStatement<Input, Output> implements Wanted {
  protected readonly statement: Statement<Input, Output>;
  protected readonly input: Input;

  constructor(statement: Statement<Input, Output>, input: Input) {
    this.statement = statement;
    this.input = input;
  }

  get kind(): Wanted["kind"] {
    return this.statement.kind;
  }

  get isQuery(): boolean {
    return false;
  }

  joinTo(batch: StatementBatch): void {
    this.statement.joinTo(batch, this.input);
  }
}

/** A statement whose output the work of a request awaits. */
class WantedQuery<Input, Output> extends WantedStatement<Input, Output> implements Receiver<Output> {
  readonly #request: Pick<BatchedRequest, "received">;
  readonly #resolve: (output: Output) => void;

  constructor(
    request: Pick<BatchedRequest, "received">,
    statement: Statement<Input, Output>,
    input: Input,
    resolve: (output: Output) => void,
  ) {
    super(statement, input);
    this.#request = request;
    this.#resolve = resolve;
  }

  override get isQuery(): boolean {
    return true;
  }

  override joinTo(batch: StatementBatch): void {
    this.statement.joinTo(batch, this.input, this);
  }

  receive(output: Output): void {
    this.#request.received(this.statement.kind === "write" && this.statement.hasWritten(output));
    this.#resolve(output);
  }
}

interface OpenTransaction extends TransactionStart {
  readonly tenantId: TenantId;
  readonly isShared: boolean;
}

/** One request in a transaction: the statements that it wants run next, and its outcome. */
export class BatchedRequest<T = unknown> implements OrdinaryTransaction {
  readonly tenantId: TenantId;
  readonly now: Date;
  readonly isFirstInMinute: boolean;
  readonly engine: Engine;
  outcome: Outcome<T> | undefined;
  marker: CommitMarker | undefined;
  /** Whether it has noted that the transaction's minute has log rows. */
  hasLogged = false;
  /** Whether it has written in the open transaction, so it can no longer leave the transaction alone. */
  hasWritten = false;
  readonly #isShared: boolean;
  readonly #reads: LargeReads;
  #wanted: Wanted[] = [];
  #atCommit: Wanted[] = [];
  #waiting = 0;
  /** Whether the work awaits its last output, which comes with the commit. */
  #isLast = false;
  #onSettled: (() => void) | undefined;

  constructor({ tenantId, now, isFirstInMinute, isShared }: OpenTransaction, engine: Engine, reads: LargeReads) {
    this.#isShared = isShared;
    this.#reads = reads;
    this.tenantId = tenantId;
    this.engine = engine;
    this.now = now;
    this.isFirstInMinute = isFirstInMinute;
  }

  /** Starts the work. Its outcome appears here some microtasks after its last output. */
  start(work: Work<T, OrdinaryTransaction>): void {
    this.#reads.start();
    work(this).then(
      (value) => this.#end({ ok: true, value }),
      (error: unknown) => {
        this.#wanted = [];
        this.#atCommit = [];
        this.#end({ ok: false, error });
      },
    );
  }

  listensTo(): boolean {
    return true;
  }

  reserve(storedBytes: number): void {
    this.#reads.reserve(storedBytes);
  }

  query<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output> {
    this.#waiting += 1;
    return new Promise((resolve) => {
      this.#wanted.push(new WantedQuery(this, statement, input, resolve));
      this.#wake();
    });
  }

  /** An output that it awaits has arrived. */
  received(hasWritten: boolean): void {
    this.#waiting -= 1;
    if (hasWritten) this.hasWritten = true;
  }

  lock<Input, Output>({ lock }: RowLock<Input, Output>, input: Input): Promise<Output> {
    return this.query(lock, input);
  }

  queryLast<Input, Output>(statement: Statement<Input, Output>, input: Input): Promise<Output> {
    const output = this.query(statement, input);
    this.#isLast = true;
    return output;
  }

  enqueue<Input>(statement: Statement<Input, unknown>, input: Input): void {
    const wanted = this.#isShared || !statement.isAtCommit ? this.#wanted : this.#atCommit;
    wanted.push(new WantedStatement(statement, input));
  }

  markCommit(marker: CommitMarker): void {
    this.marker ??= marker;
  }

  markLogged(): void {
    this.hasLogged = true;
  }

  joinTo(batch: StatementBatch): void {
    for (const wanted of this.#wanted) {
      wanted.joinTo(batch);
      if (wanted.kind === "write" && !wanted.isQuery) this.hasWritten = true;
    }
    this.#wanted = [];
  }

  /** Adds its last statements, which run with the commit, after everything else. */
  joinLastTo(batch: StatementBatch): void {
    for (const wanted of this.#atCommit) wanted.joinTo(batch);
    this.#atCommit = [];
  }

  /** Whether its next statements may write. */
  get wantsWrite(): boolean {
    return this.#wanted.some(({ kind }) => kind === "write");
  }

  /** Whether it needs only the commit. */
  get isDone(): boolean {
    return this.outcome !== undefined || this.#isLast;
  }

  /** Whether its work is still running and awaits no output. */
  get isElsewhere(): boolean {
    return this.outcome === undefined && this.#waiting === 0;
  }

  /** Resolves when its work has ended or awaits an output. */
  settled(): Promise<void> {
    return this.isElsewhere
      ? new Promise((resolve) => {
          this.#onSettled = resolve;
        })
      : Promise.resolve();
  }

  async ended(): Promise<Outcome<T>> {
    while (!this.outcome) {
      await new Promise<void>((resolve) => {
        this.#onSettled = resolve;
      });
    }
    return this.outcome;
  }

  #end(outcome: Outcome<T>): void {
    this.outcome = outcome;
    this.#wake();
  }

  #wake(): void {
    const onSettled = this.#onSettled;
    this.#onSettled = undefined;
    onSettled?.();
  }
}
