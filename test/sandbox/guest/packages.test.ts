import { afterAll, describe, expect, test } from "vitest";
import { exporting, openSandbox } from "../support/open-sandbox.js";

const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

/** The published list of dependencies with later additions, as far as they are plain JavaScript. */
const packages = [
  ...[
    "@adyen/api-library",
    "@basis-theory/apple-pay-js",
    "@basis-theory/basis-theory-js",
    "@basis-theory/google-pay-js",
  ],
  ...["@basis-theory/basis-theory-reactor-formulas-sdk-js", "@basis-theory/shopify-js", "@basis-theory/node-sdk-2"],
  ...["aws-sdk", "axios", "braintree", "crypto-js", "csv-parse", "dropbox", "dwolla-v2", "exceljs", "fast-xml-parser"],
  ...["jsonpath", "mastercard-client-encryption", "mastercard-oauth1-signer", "node-fetch", "node-forge", "node-jose"],
  ...["openpgp", "pdf-lib", "pdfkit", "snakecase-keys", "soap", "stripe", "twilio", "uuid", "xmlbuilder2", "yup"],
  ...["json-stable-stringify", "jszip", "p-limit", "split2"],
];

const guest = (expression: string) => opened.value(exporting(`async () => (${expression})`));

describe("npm packages that tenant code may require", () => {
  test.each([
    ["lodash", "require('lodash').chunk([1, 2, 3], 2)", [[1, 2], [3]]],
    ["lodash, lazy parts", "require('lodash').template('hi <%= a %>')({ a: 1 })", "hi 1"],
    [
      "uuid",
      "/^[\\da-f-]{36}$/.test(require('uuid').v4()) && require('uuid').validate(require('uuid').v1()) && require('uuid').v5('hello.example.com', require('uuid').v5.DNS)",
      "fdda765f-fc57-5604-a269-52a7df8164ec",
    ],
    [
      "fast-xml-parser",
      "(() => { const { XMLParser, XMLBuilder } = require('fast-xml-parser'); const o = new XMLParser({ ignoreAttributes: false }).parse('<a b=\"1\"><c>x</c></a>'); return [o, new XMLBuilder({ ignoreAttributes: false }).build(o)]; })()",
      [{ a: { c: "x", "@_b": "1" } }, '<a b="1"><c>x</c></a>'],
    ],
    ["csv-parse/sync", "require('csv-parse/sync').parse('a,b\\n1,\"2,3\"', { columns: true })", [{ a: "1", b: "2,3" }]],
    [
      "csv-parse",
      "await new Promise((ok, no) => require('csv-parse').parse('a;b', { delimiter: ';' }, (e, r) => (e ? no(e) : ok(r))))",
      [["a", "b"]],
    ],
    ["jsonpath", "require('jsonpath').query({ a: [{ b: 1 }, { b: 2 }] }, '$..b')", [1, 2]],
    ["jsonpath with a filter", "require('jsonpath').query([{ p: 1 }, { p: 9 }], '$[?(@.p > 5)]')", [{ p: 9 }]],
    [
      "crypto-js",
      "(() => { const C = require('crypto-js'); const e = C.AES.encrypt('text', 'key').toString(); return [C.SHA256('a').toString(), C.AES.decrypt(e, 'key').toString(C.enc.Utf8)]; })()",
      ["ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "text"],
    ],
    [
      "node-forge",
      "(() => { const f = require('node-forge'); const md = f.md.sha256.create(); md.update('a'); return [md.digest().toHex(), f.util.encode64('hi'), f.random.getBytesSync(8).length]; })()",
      ["ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "aGk=", 8],
    ],
    ["snakecase-keys", "require('snakecase-keys')({ aB: { cD: 1 } })", { a_b: { c_d: 1 } }],
    [
      "xmlbuilder2",
      "require('xmlbuilder2').create({ a: { '@b': 1, c: 'x' } }).end({ headless: true })",
      '<a b="1"><c>x</c></a>',
    ],
    ["yup", "await require('yup').object({ a: require('yup').number().required() }).validate({ a: '5' })", { a: 5 }],
    [
      "yup, refusing",
      "await require('yup').object({ a: require('yup').number().required() }).validate({}).catch((e) => e.errors)",
      ["a is a required field"],
    ],
    [
      "json-stable-stringify",
      "require('json-stable-stringify')({ b: 1, a: [{ d: 1, c: 2 }] })",
      '{"a":[{"c":2,"d":1}],"b":1}',
    ],
    [
      "p-limit",
      "await (async () => { const limit = require('p-limit')(2); let now = 0, most = 0; await Promise.all(Array.from({ length: 6 }, () => limit(async () => { most = Math.max(most, ++now); await new Promise((r) => setTimeout(r, 2)); now--; }))); return most; })()",
      2,
    ],
  ])("%s", async (_name, expression, expected) => {
    expect(await guest(expression)).toEqual(expected);
  });

  test("a module is the same each time, and belongs to one instance", async () => {
    expect(
      await guest(
        "[require('lodash') === require('lodash'), require('node-forge') === require('node-forge'), require('axios') === require('axios')]",
      ),
    ).toEqual([true, true, true]);
  });

  test("a missing package is reported with the list of available ones, all of which can be required", async () => {
    const [message = ""] = await opened.thrown(exporting("() => require('left-pad')"));
    expect(message).toMatch(/^Cannot find module 'left-pad'\. Available here: [@\w]/);
    const names = message.replace(/^.*Available here: |\.$/g, "").split(", ");
    for (const expected of packages) expect(names).toContain(expected);
    for (const name of names)
      expect(
        await guest(`['object', 'function'].includes(typeof require('${name}')) && require.resolve('${name}')`),
        name,
      ).toBe(name);
  });

  test("packages leave no globals behind", async () => {
    expect(
      await guest(
        `(() => { const before = Reflect.ownKeys(globalThis).length; for (const name of ${JSON.stringify(packages)}) require(name); return Reflect.ownKeys(globalThis).slice(before).map(String); })()`,
      ),
    ).toEqual([]);
  });
});
