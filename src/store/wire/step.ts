import type { Columns } from "./columns.js";
import type { DescribedColumn } from "./described-column.js";
import type { MessageWriter } from "./message-writer.js";
import type { PreparedStatement } from "./prepared-statement.js";

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

export type StepEnd =
  /** `hasWarned`: the database warned of something behind the last statement, as it committed what was not in a block. */
  | { readonly kind: "done"; readonly hasWarned: boolean }
  /**
   * A statement failed, and PostgreSQL skipped all later ones of the step. An open transaction has failed and must be
   * rolled back. An error of our own while reading a row skips nothing. `failed` is undefined if all statements had
   * succeeded.
   */
  | {
      readonly kind: "failed";
      readonly error: unknown;
      readonly failed: Execution | undefined;
      readonly isOpen: boolean;
    }
  /** The connection was lost. If the step `wasSent`, any part of it may have run. */
  | { readonly kind: "lost"; readonly error: unknown; readonly wasSent: boolean };

/** What to do about steps that do not end. */
export interface LateStep {
  readonly afterMs: number;
  readonly act: () => void;
}

/** A step of the same pipeline parses a statement of this one, and may fail before it does. */
export class NotPreparedYet extends Error {
  override readonly name = "NotPreparedYet";
}
