import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitMultipart } from "../../../src/proxy/body/multipart.js";
import { SearchedMultipart } from "../../../src/proxy/body/searched-multipart.js";
import { RequestReferences } from "../../../src/proxy/references.js";

/** The parsed parts of a body: headers and content of each. */
function partsOf(body: string): [string, string][] {
  const bytes = Buffer.from(body, "latin1");
  const regions = splitMultipart(bytes, "b");
  const texts = (kind: string) =>
    regions.filter((region) => region.kind === kind).map(({ start, end }) => bytes.toString("latin1", start, end));
  expect(regions.map(({ start, end }) => bytes.toString("latin1", start, end)).join("")).toBe(body);
  const contents = texts("content");
  return texts("headers").map((headers, index) => [headers, contents[index] ?? ""]);
}

describe("a multipart body", () => {
  it.each<[string, string, [string, string][]]>([
    [
      "with two parts",
      "--b\r\na: 1\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--\r\n",
      [
        ["a: 1\r\n", "x"],
        ["", "y"],
      ],
    ],
    ["with bare line feeds", "--b\na: 1\n\nx\n--b--", [["a: 1\n", "x"]]],
    ["with something before and after", "before\r\n--b\r\n\r\nx\r\n--b--\r\nafter --b", [["", "x"]]],
    ["with blanks after a delimiter", "--b \t\r\n\r\nx\r\n--b-- \r\n", [["", "x"]]],
    ["with an empty part", "--b\r\n\r\n\r\n--b--", [["", ""]]],
    [
      "without an empty line",
      "--b\r\na: 1\r\n--b\r\n\r\nx\r\n--b--",
      [
        ["a: 1\r\n", ""],
        ["", "x"],
      ],
    ],
    ["with line ends in its content", "--b\r\n\r\n\r\nx\r\n\r\n--b--", [["", "\r\nx\r\n"]]],
    ["with a delimiter that is longer", "--b\r\n\r\nx\r\n--bb\r\ny\r\n--b--", [["", "x\r\n--bb\r\ny"]]],
    ["with a delimiter within a line", "--b\r\n\r\nx --b\r\n--b--", [["", "x --b"]]],
    ["that ends in a content", "--b\r\n\r\nx", [["", "x"]]],
    ["that ends in a header", "--b\r\na: 1", [["a: 1", ""]]],
    ["that ends in a delimiter", "--b\r\n\r\nx\r\n--b", [["", "x\r\n--b"]]],
    ["without any delimiter", "nothing", []],
  ])("%s is split without losing a byte", (_, body, parts) => {
    expect(partsOf(body)).toEqual(parts);
  });

  it("is parsed into parts however it was created, and is unchanged without references", () => {
    const piece = fc.constantFrom("--b", "--b--", "\r\n", "\n", "\r", " ", "a: 1", "x", "content-length: 5", "\0", "é");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const body = pieces.join("");
        partsOf(Buffer.from(body).toString("latin1"));
        const bytes = Buffer.from(body);
        const references = new RequestReferences();
        const searched = new SearchedMultipart(references, bytes, "b");
        references.resolve(() => undefined, {});
        expect(searched.assemble()).toBe(bytes);
      }),
      { numRuns: 1_000 },
    );
  });

  it("gets its values inserted again when it is resolved again", () => {
    const inner = '--i\r\n\r\n{"a":"{{ abc }}"}\r\n--i--';
    const body = `--b\r\nContent-Type: multipart/mixed; boundary=i\r\n\r\n${inner}\r\n--b\r\n\r\n{{ abc }}\r\n--b--`;
    const references = new RequestReferences();
    const searched = new SearchedMultipart(references, Buffer.from(body), "b");
    for (const value of ["first", "second"]) {
      references.resolve(() => ({ data: value, token: {} }), {});
      expect(searched.assemble().toString()).toBe(body.replaceAll("{{ abc }}", value));
    }
  });
});
