import { type Columns, findColumnKinds, type ReadRow } from "../wire/columns.js";
import type { MessageWriter } from "../wire/message-writer.js";
import { PreparedStatement } from "../wire/prepared-statement.js";
import type { Execution } from "../wire/step.js";
import { type Parameter, time, uuid } from "./parameter.js";
import { inPreparedSizes } from "./prepared-sizes.js";
import { CurrentGroup, type GroupDefinition, QueryGroup, type WriteOrder } from "./query-group.js";
import type { Statement, StatementContext } from "./statement-batch.js";
import { lockRank, type StatementRank, type Table } from "./tables.js";

interface Bound<Input> extends GroupDefinition<Input> {
  /** Whether it runs first or last among the statements on its table in one step. */
  readonly position?: StatementRank;
  /**
   * The SQL text. `:name` is a parameter; `:tenant` and `:now` are the transaction's tenant and time. Text in braces is
   * repeated for each input, separated by commas: `insert into t values {(:tenant, :id)}`. Without braces the statement
   * runs once per input.
   */
  readonly sql: string;
  readonly parameters?: Readonly<Record<string, Parameter<Input>>>;
}

export interface BoundWrite<Input> extends Bound<Input> {
  /** Merges inputs of one transaction: adds them up, or drops duplicates. */
  combine?(inputs: readonly Input[]): readonly Input[];
  /**
   * In an ordinary transaction, runs the statement with the commit, after everything else and in lock order. For writes
   * to rows that all requests of the tenant share, which must be locked for the shortest time.
   */
  readonly isAtCommit?: boolean;
}

export interface BoundQuery<Input, Output, Row> extends Bound<Input> {
  readonly kind: "read" | "write";
  /**
   * Whether a write has changed anything, judged by its output. Absent: always. A write that changed nothing is not
   * rolled back.
   */
  hasWritten?(output: Output): boolean;
  readonly row: ReadRow<Row>;
  /**
   * Returns the outputs in the order of the inputs. `rows` has an item for each run: one run for all inputs if the text
   * has braces, otherwise one run per input.
   */
  outputs(rows: readonly (readonly Row[])[], inputs: readonly Input[]): readonly Output[];
}

/** A statement without an output. It runs with the next step or the commit. */
export function boundWrite<Input>(definition: BoundWrite<Input> & WriteOrder<Input>): Statement<Input, never> {
  const { combine, isAtCommit = false } = definition;
  return bound<Input, never, undefined>({
    ...definition,
    kind: "write",
    hasWritten: () => true,
    row: () => undefined,
    combine: combine ?? ((inputs) => inputs),
    isAtCommit,
    outputs: () => [],
  });
}

export function boundQuery<Input, Output, Row>(
  definition: BoundQuery<Input, Output, Row> & ({ readonly kind: "read" } | WriteOrder<Input>),
): Statement<Input, Output> {
  const { hasWritten = () => true } = definition;
  return bound({ ...definition, hasWritten, combine: (inputs) => inputs, isAtCommit: false });
}

type Definition<Input, Output, Row> = BoundQuery<Input, Output, Row> &
  Required<Pick<BoundQuery<Input, Output, Row>, "hasWritten"> & Pick<BoundWrite<Input>, "combine" | "isAtCommit">>;

function bound<Input, Output, Row>(definition: Definition<Input, Output, Row>): Statement<Input, Output> {
  const template = new Template(definition);
  const rank = lockRank(definition.table, definition.position);
  const { kind, row } = definition;
  const prepared = { template, row, table: kind === "write" ? definition.table : undefined };
  const current = new CurrentGroup<Input, Output>();
  const execute = (inputs: readonly Input[], context: StatementContext) => {
    const combined = definition.combine(inputs);
    const pieces = template.repeats ? inPreparedSizes(combined) : combined.map((input) => [input]);
    return pieces.map((piece) => new BoundExecution(prepared, piece, context));
  };
  const makeGroup = () => new QueryGroup(rank, definition, execute, () => current.forget());
  return {
    kind,
    isAtCommit: definition.isAtCommit,
    hasWritten: (output) => definition.hasWritten(output),
    joinTo(batch, input, receiver) {
      current.in(batch, makeGroup).add(input, receiver);
    },
  };
}

/** What all executions of a statement share. */
interface Prepared<Input, Row> {
  readonly template: Template<Input>;
  readonly row: ReadRow<Row>;
  readonly table: Table | undefined;
}

class BoundExecution<Input, Row> implements Execution {
  readonly statement: PreparedStatement;
  readonly table: Table | undefined;
  readonly rows: Row[] = [];
  readonly #template: Template<Input>;
  readonly #read: ReadRow<Row>;
  readonly #inputs: readonly Input[];
  readonly #context: StatementContext;

  constructor({ template, row, table }: Prepared<Input, Row>, inputs: readonly Input[], context: StatementContext) {
    this.statement = template.statementFor(inputs.length);
    this.table = table;
    this.#template = template;
    this.#read = row;
    this.#inputs = inputs;
    this.#context = context;
  }

  writeValues(out: MessageWriter): void {
    this.#template.writeValues(out, this.#inputs, this.#context);
  }

  takeRow(columns: Columns): void {
    this.rows.push(this.#read(columns));
  }
}

const CONTEXT: Readonly<Record<string, Parameter<StatementContext>>> = {
  tenant: uuid(({ tenantId }) => tenantId),
  now: time(({ now }) => now),
};

/** A name after a colon. Two colons are a cast. */
const NAME = /(?<!:):([a-z_]+)/g;

/** The text of a statement, with the positions of its parameters. */
class Template<Input> {
  /** Whether a part of the text repeats for each input. */
  readonly repeats: boolean;
  readonly #parts: readonly [before: string, repeated: string, after: string];
  readonly #shared: readonly (readonly [name: string, parameter: Parameter<StatementContext>])[];
  readonly #own: readonly (readonly [name: string, parameter: Parameter<Input>])[];
  /** The same without names: destructuring a pair for each value leaves an iterator behind. */
  readonly #sharedValues: readonly Parameter<StatementContext>[];
  readonly #ownValues: readonly Parameter<Input>[];
  readonly #columns: readonly ReturnType<typeof findColumnKinds>[number][];
  readonly #bySize = new Map<number, PreparedStatement>();

  constructor({ sql, parameters = {}, row }: Pick<Definition<Input, unknown, unknown>, "sql" | "parameters" | "row">) {
    const [, before = sql, repeated = "", after = ""] = /^([^{]*)\{([^}]*)\}([^{}]*)$/s.exec(sql) ?? [];
    this.#parts = [before, repeated, after];
    this.repeats = repeated !== "";
    const used = new Set(Array.from(sql.matchAll(NAME), ([, name = ""]) => name));
    this.#shared = Object.entries(CONTEXT).filter(([name]) => used.has(name));
    this.#own = Object.entries(parameters);
    this.#sharedValues = this.#shared.map(([, parameter]) => parameter);
    this.#ownValues = this.#own.map(([, parameter]) => parameter);
    const outside = this.repeats ? `${before}${after}` : "";
    for (const name of used) {
      const isShared = Object.hasOwn(CONTEXT, name);
      const isOwn = Object.hasOwn(parameters, name);
      if (isShared === isOwn) throw new Error(`:${name} is not a parameter of: ${sql}`);
      if (isOwn && outside.includes(`:${name}`)) throw new Error(`:${name} is outside of the braces of: ${sql}`);
    }
    for (const [name] of this.#own) if (!used.has(name)) throw new Error(`:${name} is not used in: ${sql}`);
    this.#columns = findColumnKinds(row);
  }

  statementFor(count: number): PreparedStatement {
    const known = this.#bySize.get(count);
    if (known) return known;
    const kinds = [...this.#sharedValues, ...Array.from({ length: count }, () => this.#ownValues).flat()];
    const statement = new PreparedStatement(this.#textFor(count), kinds, this.#columns);
    this.#bySize.set(count, statement);
    return statement;
  }

  writeValues(out: MessageWriter, inputs: readonly Input[], context: StatementContext): void {
    for (const parameter of this.#sharedValues) parameter.write(out, context);
    for (const input of inputs) for (const parameter of this.#ownValues) parameter.write(out, input);
  }

  #textFor(count: number): string {
    const [before, repeated, after] = this.#parts;
    const rows = Array.from({ length: this.repeats ? count : 0 }, (_, index) => this.#numbered(repeated, index));
    return `${this.#numbered(before, 0)}${rows.join(", ")}${this.#numbered(after, 0)}`.replaceAll(/\s+/g, " ").trim();
  }

  #numbered(part: string, input: number): string {
    const first = 1 + this.#shared.length + input * this.#own.length;
    return part.replaceAll(NAME, (_, name: string) => {
      const shared = this.#shared.findIndex(([known]) => known === name);
      return `$${shared >= 0 ? 1 + shared : first + this.#own.findIndex(([known]) => known === name)}`;
    });
  }
}
