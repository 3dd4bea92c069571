import { globSync, readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";

const guide = readFileSync("CONTRIBUTING.md", "utf8");

const PATH = /^(?:src|test|scripts|docs|proto|gen|clients)\/[\w./-]*$|^[A-Z]+\.md$/;
const COMMAND = /^np[mx] /;
/** Files named beside their folder. */
const FILE = /^[\w-]+\.test\.ts$/;
const PREFIX = /^[A-Z]+_$/;

interface Step {
  readonly title: string;
  readonly paths: readonly string[];
  /** Test files that the step names without their folder. */
  readonly tests: readonly string[];
  /** Functions, constants, fields and options that the step names. */
  readonly names: readonly string[];
}

interface Recipe {
  readonly title: string;
  readonly steps: readonly Step[];
}

function stepOf(text: string, title: string): Step {
  const quoted = [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
  const others = quoted.filter((code) => ![PATH, COMMAND, FILE, PREFIX].some((form) => form.test(code)));
  return {
    title,
    paths: quoted.filter((code) => PATH.test(code)),
    tests: quoted.filter((code) => FILE.test(code)),
    names: others.flatMap((code) => /[A-Za-z_][\w.]*/.exec(code)?.[0] ?? []),
  };
}

const recipes: Recipe[] = guide
  .split(/^### /m)
  .filter((text) => text.startsWith("Add "))
  .map((text) => {
    const [title = "", ...lines] = text.split("\n");
    const steps = lines
      .join("\n")
      .split(/^(?=\d+\. )/m)
      .filter((step) => /^\d+\. /.test(step));
    return { title, steps: steps.map((step) => stepOf(step, `${title}, step ${Number.parseInt(step, 10)}`)) };
  });

/** Every file of the repository, and the text of those that a path names, with the files of a folder below it. */
const files = globSync(["{src,test,scripts,docs,proto}/**/*.{ts,tsx,js,sql,proto,md}", "gen/**", "*.md"]).sort();
const textOf = (path: string) =>
  statSync(path).isFile()
    ? readFileSync(path, "utf8")
    : files
        .filter((file) => file.startsWith(path) && statSync(file).isFile())
        .map((file) => readFileSync(file, "utf8"))
        .join("\n");

const named = (text: string, name: string) =>
  new RegExp(`(?<![\\w])${name.replaceAll(".", "\\.")}(?![\\w])`).test(text);

describe("the recipes for contributors", () => {
  it("are found", () => {
    expect(recipes.map(({ title }) => title)).toEqual(
      expect.arrayContaining(["Add an operation", "Add a token type", "Add a payment provider", "Add a setting"]),
    );
    expect(recipes.flatMap(({ steps }) => steps).length).toBeGreaterThan(30);
  });

  it.each(recipes.flatMap(({ steps }) => steps.map((step, index) => [step.title, steps.slice(0, index + 1)] as const)))(
    "%s: each name is in a file of this step or of one before",
    (_title, steps) => {
      const { names = [], tests = [] } = steps.at(-1) ?? {};
      const text = steps.flatMap(({ paths }) => paths.map(textOf)).join("\n");
      expect(names.filter((name) => !named(text, name))).toEqual([]);
      expect(tests.filter((test) => !files.some((file) => file.endsWith(`/${test}`)))).toEqual([]);
    },
  );
});
