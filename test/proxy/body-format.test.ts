import { describe, expect, it } from "vitest";
import {
  contentCharset,
  contentParameter,
  detectBodyFormat,
  isJsonBody,
  readContentCodings,
} from "../../src/proxy/body-format.js";
import { placesInJson } from "../../src/proxy/splice/json.js";
import { placesInJson5 } from "../../src/proxy/splice/json5.js";
import { placesInText, placesInUntypedText } from "../../src/proxy/splice/plain.js";
import { placesInForm } from "../../src/proxy/splice/url.js";
import { placesInXml } from "../../src/proxy/splice/xml.js";

const FORMATS = new Map([
  [placesInJson, "JSON"],
  [placesInJson5, "JSON5"],
  [placesInForm, "form"],
  [placesInXml, "XML"],
  [placesInUntypedText, "text or JSON"],
  [placesInText, "text"],
]);

/** The format of a type, in a word; of multipart its boundary. */
function formatOf(contentType: string | undefined): string {
  const format = detectBodyFormat(contentType);
  if (format.kind === "text") return FORMATS.get(format.find) ?? "another";
  return format.kind === "multipart" ? `parts: ${format.boundary}` : format.kind;
}

describe("the format in which references are found", () => {
  it.each([
    ["application/json", "JSON"],
    ["Application/JSON; charset=UTF-8", "JSON"],
    ["text/json", "JSON"],
    ["application/x-ndjson", "JSON"],
    ["application/json-seq", "JSON"],
    ["application/problem+json", "JSON"],
    ["application/geo+json-seq", "JSON"],
    ["application/graphql", "JSON"],
    ["application/json5", "JSON5"],
    ["application/x-www-form-urlencoded", "form"],
    ["application/xml", "XML"],
    ["text/xml;charset=utf-8", "XML"],
    ["application/soap+xml", "XML"],
    ["image/svg+xml", "XML"],
    ["text/plain", "text or JSON"],
    ["text/csv", "text"],
    ["text/html", "text"],
    ["application/jsonp", "unknown"],
    ["application/json+zip", "unknown"],
    ["application/octet-stream", "unknown"],
    ["json", "unknown"],
    ["", "unknown"],
    [";charset=utf-8", "unknown"],
    [undefined, "unknown"],
  ])("follows from the type %s: %s", (contentType, format) => {
    expect(formatOf(contentType)).toBe(format);
  });

  it.each([
    ["multipart/form-data; boundary=abc", "parts: abc"],
    ["multipart/mixed; BOUNDARY=abc", "parts: abc"],
    ['multipart/form-data; boundary="a b?c"', "parts: a b?c"],
    ['multipart/form-data; boundary="a\\bc"', "parts: abc"],
    ['multipart/related; start="; boundary=x"; boundary=y', "parts: y"],
    ["multipart/form-data; boundary=a; boundary=b", "parts: a"],
    [`multipart/form-data; boundary=${"a".repeat(70)}`, `parts: ${"a".repeat(70)}`],
    [`multipart/form-data; boundary=${"a".repeat(71)}`, "unknown"],
    ["multipart/form-data", "unknown"],
    ["multipart/form-data; boundary=", "unknown"],
    ['multipart/form-data; boundary="a "', "unknown"],
    ['multipart/form-data; boundary="a{b"', "unknown"],
  ])("follows from the boundary in %s: %s", (contentType, format) => {
    expect(formatOf(contentType)).toBe(format);
  });
});

describe("the parts of a content type", () => {
  it.each([
    ["application/json", true],
    ["APPLICATION/JSON;charset=utf-8", true],
    ["application/problem+json", false],
    ["text/json", false],
    [undefined, false],
  ])("make a body of %s an object for transforms: %s", (contentType, isObject) => {
    expect(isJsonBody(contentType)).toBe(isObject);
  });

  it.each([
    ["text/plain; charset=UTF-8", "utf-8"],
    ['text/plain; charset="utf-16le"', "utf-16le"],
    ["text/plain; format=flowed; Charset = latin1", "latin1"],
    ["text/plain", undefined],
    [undefined, undefined],
  ])("have a charset: %s has %s", (contentType, charset) => {
    expect(contentCharset(contentType)).toBe(charset);
  });

  it.each([
    ['form-data; name="a\\"b"', "name", 'a"b'],
    ['form-data; filename="x; name=y"; name=z', "name", "z"],
    ["form-data; name=", "name", ""],
    ["form-data; surname=x", "name", undefined],
  ])("are read as of %s: %s is %s", (header, name, value) => {
    expect(contentParameter(header, name)).toBe(value);
  });
});

describe("the content codings of a body", () => {
  it.each([
    ["gzip", ["gzip"]],
    ["GZIP, br", ["gzip", "br"]],
    ["identity", []],
    [" , gzip,,identity, zstd", ["gzip", "zstd"]],
    ["", []],
  ])("are read from %j: %j", (header, codings) => {
    expect(readContentCodings(header)).toEqual(codings);
  });
});
