import { afterAll, describe, expect, test } from "vitest";
import { openSandbox } from "./support/open-sandbox.js";

const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

describe("code is compiled before it is saved", () => {
  test.each([
    [
      "a transform",
      "module.exports = async function (req) {\n  return { body: req.args.body, headers: req.args.headers };\n};\n",
    ],
    ["an interpreter line", "#!/usr/bin/env node\nmodule.exports = () => 1;"],
    ["a return at the top level", "module.exports = () => 1;\nreturn;"],
    ["a comment at the end", "module.exports = () => 1; // done"],
    ["sloppy code", "with ({}) {} var let_ = 010; delete let_;"],
    [
      "newer syntax",
      "class A { #x = 1; static { this.y = 1n; } get x() { return this.#x?.[0] ?? 1_000; } } module.exports = async () => { for await (const x of []) x; };",
    ],
    ["nothing", ""],
  ])("%s compiles", async (_name, code) => {
    expect(await opened.compile(code)).toBeUndefined();
  });

  test.each([
    ["an operand is missing", "module.exports = () => {\n  const x = ;\n};", 2, 13, "unexpected token"],
    ["in the first line", "const x = ;", 1, 11, "unexpected token"],
    ["in the first line after an interpreter", "#! const\nconst x = ;", 2, 11, "unexpected token"],
    ["a name twice", "const a = 1;\nlet a = 2;", 2, 7, "redefinition"],
    ["text without an end", "const a = 1;\nconst b = 'abc\n;", 2, 11, "end of string"],
    ["in a module", "export const a = 1;\nexport default = a;", 2, 16, "unexpected token"],
    ["an import of something else", "import { a } form 'axios';\nexport default a;", 1, 14, "from"],
    ["await outside of a function", "const a = await 1;", 1, 17, "expecting"],
    ["a block without an end", "module.exports = () => {\n  return 1;", 2, 12, ""],
    ["a bracket too many", "module.exports = () => 1;\n}", 2, 2, ""],
  ])("%s: line and column", async (_name, code, line, column, message) => {
    const problem = await opened.compile(code);
    expect(problem?.message).toMatch(/^SyntaxError: /);
    expect(problem?.message).toContain(message);
    expect([problem?.line, problem?.column]).toEqual([line, column]);
  });

  test("an error in a regular expression has the engine's message and no location", async () => {
    const problem = await opened.compile("const a = 1;\nconst r = /(/;");
    expect(problem).toEqual({ message: expect.stringMatching(/^SyntaxError: /), line: 1, column: 1 });
  });

  test("a run of such code fails with the same problem", async () => {
    const code = "const a = 1;\nconst x = ;";
    expect(await opened.run(code)).toEqual({
      kind: "failed",
      reason: "does_not_compile",
      retryable: false,
      problem: await opened.compile(code),
      console: [],
    });
  });

  test("none of the code runs", async () => {
    expect(await opened.compile("for (;;);")).toBeUndefined();
    expect(await opened.compile("}); for (;;); (function () {")).toBeUndefined();
    // Code that runs here is reported, after its time or with its thread.
    expect(opened.sandbox.metrics.threadsEnded).toBe(0);
  });

  test("code that is too long is not compiled", async () => {
    expect(await opened.compile(" ".repeat(50_001))).toEqual({
      message: "The code is longer than 50000 characters.",
      line: 1,
      column: 1,
    });
  });

  test("code that is nested too deep is rejected, and the next is compiled", async () => {
    const problem = await opened.compile(`module.exports = ${"(".repeat(20_000)}1${")".repeat(20_000)};`);
    expect(problem).toBeDefined();
    expect(await opened.compile("1")).toBeUndefined();
  });
});
