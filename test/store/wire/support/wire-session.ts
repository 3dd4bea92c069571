import type { DatabaseAddress } from "../../../../src/store/postgres/connect.js";
import { type Engine, openPostgresConnection } from "../../../../src/store/postgres/open-connection.js";
import type { Parameter } from "../../../../src/store/statements/parameter.js";
import { type Columns, findColumnKinds, type ReadRow } from "../../../../src/store/wire/columns.js";
import type { Connection } from "../../../../src/store/wire/connection.js";
import type { MessageWriter } from "../../../../src/store/wire/message-writer.js";
import { PreparedStatement } from "../../../../src/store/wire/prepared-statement.js";
import type { Execution, StepEnd } from "../../../../src/store/wire/step.js";

/** A run of a statement that keeps its result. */
export class Run<Row> implements Execution {
  readonly statement: PreparedStatement;
  readonly rows: Row[] = [];
  tag: string | undefined;
  readonly #read: ReadRow<Row>;
  readonly #write: (out: MessageWriter) => void;

  constructor(text: string, read: ReadRow<Row>, parameters: readonly Parameter<unknown>[] = [], input?: unknown) {
    this.statement = new PreparedStatement(text, parameters, findColumnKinds(read));
    this.#read = read;
    this.#write = (out) => {
      for (const parameter of parameters) parameter.write(out, input);
    };
  }

  writeValues(out: MessageWriter): void {
    this.#write(out);
  }

  takeRow(columns: Columns): void {
    this.rows.push(this.#read(columns));
  }

  takeTag(tag: string): void {
    this.tag = tag;
  }
}

/** A bare connection. */
export interface WireSession {
  readonly connection: Connection;
  readonly engine: Engine;
  /** Runs one statement in a step of its own. @throws its error. */
  run<Input, Row>(
    text: string,
    parameters: readonly Parameter<Input>[],
    input: Input,
    read: ReadRow<Row>,
  ): Promise<readonly Row[]>;
}

export async function openSession(address: DatabaseAddress): Promise<WireSession> {
  const { connection, engine } = await openPostgresConnection(address, { statementTimeout: 20_000 }).opened;
  return {
    connection,
    engine,
    async run(text, parameters, input, read) {
      const run = new Run(
        text,
        read,
        parameters.map((parameter) => ({ ...parameter, write: (out: MessageWriter) => parameter.write(out, input) })),
      );
      connection.add(run);
      throwUnlessDone(await connection.send());
      return run.rows;
    },
  };
}

export function throwUnlessDone(end: StepEnd): void {
  if (end.kind !== "done") throw end.error;
}
