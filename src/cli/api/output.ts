import { styleText } from "node:util";
import { terminal } from "../../base/terminal.js";
import { printableJson } from "../printable.js";
import { toRestNames } from "./field-names.js";
import { missingStep, partOfResult } from "./result-path.js";
import { cellText, tableLines } from "./text-table.js";

export interface OutputOptions {
  readonly json: boolean;
  /** Prints this part of the result. */
  readonly query: string | undefined;
  /** Prints ids only. */
  readonly quiet: boolean;
  /** Allows colors, where the terminal has them and NO_COLOR is not set. */
  readonly color: boolean;
}

/** Standard output of a command: tables and lines for people, JSON for programs. */
export class Output {
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** Whether the result is text to read, not data. */
  get isForPeople(): boolean {
    return !this.#isForPrograms && !this.#options.quiet;
  }

  get isJson(): boolean {
    return this.#options.json;
  }

  one(result: unknown): void {
    const shown = toRestNames(result);
    if (this.#options.quiet) this.#ids([shown]);
    else if (this.#isForPrograms) this.#data(shown);
    else if (typeof shown !== "object" || shown === null) this.line(cellText(shown));
    else this.#fields(shown);
  }

  /** Prints a list in one piece: a table of some columns for people. */
  list(items: readonly unknown[], columns: readonly string[]): void {
    const shown = items.map(toRestNames);
    if (this.#options.quiet || this.#isForPrograms) {
      if (this.#options.quiet) this.#ids(shown);
      else this.#data(shown);
      return;
    }
    const rows = shown.map((item) => columns.map((column) => cellText(partOfResult(item, column))));
    const width = terminal().stdout.isTTY ? terminal().stdout.columns : undefined;
    for (const [index, line] of tableLines(columns, rows, width).entries()) {
      this.line(index === 0 && width !== undefined ? this.#bold(line) : line);
    }
  }

  /** Prints one item of a list whose end is not known: a JSON document per line, or its columns with tabs between them. */
  item(item: unknown, columns: readonly string[]): void {
    const shown = toRestNames(item);
    if (this.#options.quiet) this.#ids([shown]);
    else if (this.#isForPrograms) this.#data(shown);
    else this.line(columns.map((column) => cellText(partOfResult(shown, column))).join("\t"));
  }

  line(text: string): void {
    terminal().stdout.write(`${text}\n`);
  }

  #ids(items: readonly unknown[]): void {
    for (const item of items) {
      const id = partOfResult(item, "id");
      if (id !== undefined) this.line(cellText(id));
    }
  }

  #bold(line: string): string {
    return this.#options.color ? styleText("bold", line, { stream: terminal().stdout }) : line;
  }

  get #isForPrograms(): boolean {
    return this.#options.json || this.#options.query !== undefined;
  }

  #fields(shown: object): void {
    const entries = Object.entries(shown);
    const width = Math.max(0, ...entries.map(([name]) => name.length));
    for (const [name, value] of entries) this.line(`${name.padEnd(width)}  ${cellText(value)}`);
  }

  #data(shown: unknown): void {
    const { query, json } = this.#options;
    const part = query === undefined ? shown : partOfResult(shown, query);
    // Still a line: programs that ask for a field of many results expect one for each.
    const missing = query === undefined ? undefined : missingStep(shown, query);
    if (missing !== undefined) terminal().stderr.write(`The result has no ${missing}.\n`);
    if (json) this.line(printableJson(part ?? null));
    // A file or a program gets the value as it is, such as a key with several lines.
    else if (typeof part === "string" && !terminal().stdout.isTTY) this.line(part);
    else for (const item of Array.isArray(part) ? part : [part]) this.line(cellText(item));
  }
}
