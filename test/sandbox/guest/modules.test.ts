import { afterAll, describe, expect, test } from "vitest";
import { exporting, openSandbox } from "../support/open-sandbox.js";

/** How tenant code may export its function, and import others. */
const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

describe("code exports its function", () => {
  test.each([
    ["module.exports", "module.exports = async (req) => req.args;"],
    ["module.exports, not async", "module.exports = function (req) { return req.args; };"],
    ["exports.default", "exports.default = async (req) => req.args;"],
    [
      "what TypeScript makes of a module",
      '"use strict"; Object.defineProperty(exports, "__esModule", { value: true }); exports.default = handler; async function handler(req) { return req.args; }',
    ],
    ["exports.handler", "exports.other = () => 0; exports.handler = async (req) => req.args;"],
    ["the only function in exports", "exports.version = 1; exports.run = async (req) => req.args;"],
    ["module.exports with a property", "module.exports.transform = (req) => req.args;"],
    ["export default", "export default async function (req) { return req.args; }"],
    ["export default of a name", "const run = async (req) => req.args;\nexport default run;"],
    ["export default of an arrow", "export default (req) => req.args"],
    [
      "export default of a function with a name, used before",
      "export const early = run.name; export default function run(req) { return req.args; }",
    ],
    ["export const", "export const handler = async (req) => req.args;"],
    ["export const of any name", "export const transform = async (req) => req.args;"],
    ["export function", "export async function handler(req) { return req.args; }\nexport const other = () => 0;"],
    ["export of a list", "const run = (req) => req.args; const x = 1;\nexport { run as default, x };"],
    ["import and module.exports, mixed", "import { v4 } from 'uuid';\nmodule.exports = (req) => v4() && req.args;"],
    ["export and require, mixed", "const { v4 } = require('uuid');\nexport default (req) => v4() && req.args;"],
    [
      "an import at top level that is awaited",
      "const { default: axios } = await import('axios');\nexport default (req) => axios && req.args;",
    ],
  ])("with %s", async (_name, code) => {
    expect(await opened.compile(code)).toBeUndefined();
    expect(await opened.value(code, { args: { args: { a: 1 } }, key: { functionId: code } })).toEqual({ a: 1 });
    // And again, in the warm instance.
    expect(await opened.value(code, { args: { args: 2 }, key: { functionId: code } })).toBe(2);
  });

  test("module-level state is kept between calls, as in CommonJS", async () => {
    const code = "let calls = 0;\nexport default () => ++calls;";
    expect([await opened.value(code), await opened.value(code)]).toEqual([1, 2]);
  });

  test("a module that waits forever at its top level ends as such", async () => {
    const code = "await new Promise(() => {});\nexport default () => 1;";
    expect(await opened.run(code)).toMatchObject({ kind: "failed", reason: "unsettled" });
  });

  test("a module may call the host at its top level", async () => {
    const code = "const token = await fetch('https://example.com').then((r) => r.text());\nexport default () => token;";
    const fetch = async () => ({ status: 200, statusText: "OK", headers: [], body: { text: "fetched" } });
    expect(await opened.value(code, { hosts: { fetch } })).toBe("fetched");
  });

  test("an error at the top level of a module is the error of the run", async () => {
    expect(await opened.thrown("export default () => 1;\nthrow new Error('at the top');")).toEqual(["at the top"]);
  });

  test("modules are strict, and CommonJS is not", async () => {
    expect(await opened.compile("export default () => { with ({}) {} };")).toMatchObject({
      message: expect.stringContaining("SyntaxError"),
    });
    expect(await opened.compile("module.exports = () => { with ({}) {} };")).toBeUndefined();
  });
});

describe("code imports", () => {
  test.each([
    ["the default", "import axios from 'axios'; export default () => typeof axios.get;", "function"],
    ["by name", "import { v4, validate } from 'uuid'; export default () => validate(v4());", true],
    [
      "everything",
      "import * as crypto from 'node:crypto'; export default () => crypto.createHash('sha1').update('').digest('hex').length;",
      40,
    ],
    [
      "a name that is a reserved word",
      "import { delete as remove } from 'axios'; export default () => typeof remove;",
      "function",
    ],
    ["a subpath", "import { parse } from 'csv-parse/sync'; export default () => parse('a,b');", [["a", "b"]]],
    ["for its effect", "import 'lodash'; export default () => 1;", 1],
    [
      "the classes for errors",
      "import { BadRequestError } from '@basis-theory/basis-theory-reactor-formulas-sdk-js'; export default () => new BadRequestError().status;",
      400,
    ],
    [
      "twice, the same",
      "import a from 'lodash'; import b from 'lodash'; export default () => a === b && a === require('lodash');",
      true,
    ],
  ])("%s", async (_name, code, expected) => {
    expect(await opened.compile(code)).toBeUndefined();
    expect(await opened.value(code)).toEqual(expected);
  });

  test("at run time, in CommonJS too", async () => {
    const code = exporting(
      "async () => { const { default: lodash, chunk } = await import('lodash'); return [chunk([1, 2], 1), lodash.chunk === chunk]; }",
    );
    expect(await opened.value(code)).toEqual([[[1], [2]], true]);
  });

  test("a missing module is reported when the code is saved", async () => {
    expect(await opened.compile("import x from 'left-pad';\nexport default () => x;")).toMatchObject({
      message: expect.stringContaining("Cannot find module 'left-pad'. Available here: "),
    });
    expect(await opened.thrown("import { nothing } from 'uuid';\nexport default () => nothing;")).toEqual([
      expect.stringContaining("nothing"),
    ]);
  });
});
