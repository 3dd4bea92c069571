import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FILTER_GROUPS } from "../../scripts/expression-docs/filter-entries.js";
import { expressionPage } from "../../scripts/expression-docs/page.js";
import { filterNames } from "../../src/expressions/engine.js";
import { evaluate } from "../../src/expressions/expression.js";

const PAGE = readFileSync("docs/expressions.md", "utf8");

/** A row of a table of examples: the result that the page gives for an expression. */
interface Row {
  readonly data: string;
  readonly expression: string;
  readonly result: string | undefined;
  readonly error: string | undefined;
}

/** The examples of the page, in order. A table without a data column uses the JSON block above it. */
function rowsOf(page: string): Row[] {
  const rows: Row[] = [];
  let block = "";
  let head: string[] = [];
  for (const line of page.split("\n")) {
    if (/^[[{]/.test(line)) block = line;
    if (!line.startsWith("|")) head = [];
    else if (head.length === 0) head = cellsOf(line);
    else if (head.includes("Expression") && !line.startsWith("|---")) {
      const cells = cellsOf(line);
      const at = (name: string) => (head.includes(name) ? cells[head.indexOf(name)] : undefined);
      rows.push({
        data: plain(at("Data") ?? block),
        expression: plain(at("Expression") ?? ""),
        result: at("Result"),
        error: at("Error"),
      });
    }
  }
  return rows;
}

function cellsOf(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function plain(cell: string): string {
  return cell.replace(/^`|`$/g, "");
}

const samples = FILTER_GROUPS.flatMap(({ entries }) => entries.flatMap(({ examples }) => examples));

describe("docs/expressions.md", () => {
  it("is what `npm run generate` writes", () => {
    expect(PAGE).toBe(expressionPage());
  });

  it("describes every filter once, and no other", () => {
    const names = FILTER_GROUPS.flatMap(({ entries }) => entries.map(({ name }) => name));
    expect([...names].sort()).toEqual(filterNames());
  });

  it("has an example for each filter that uses it", () => {
    for (const { name, examples } of FILTER_GROUPS.flatMap(({ entries }) => entries)) {
      expect(examples.length, name).toBeGreaterThan(0);
      for (const { expression } of examples) expect(expression).toMatch(new RegExp(`\\| ${name}\\b`));
    }
  });

  it.each(rowsOf(PAGE).filter(({ error }) => error === undefined))("$expression of $data gives $result", (row) => {
    const outcome = evaluate(row.expression, { data: JSON.parse(row.data) });
    if (!("value" in outcome)) throw new Error(outcome.rejected);
    const random = samples.find(({ expression }) => expression === row.expression)?.random;
    if (random) {
      expect(row.result).toBe(`such as \`${JSON.stringify(random.sample)}\``);
      expect(random.sample).toMatch(random.shape);
      expect(outcome.value).toMatch(random.shape);
    } else {
      expect(JSON.stringify(outcome.value)).toBe(plain(row.result ?? ""));
    }
  });

  it.each(rowsOf(PAGE).filter(({ error }) => error !== undefined))("$expression of $data fails: $error", (row) => {
    expect(evaluate(row.expression, { data: JSON.parse(row.data) })).toEqual({ rejected: row.error });
  });
});
