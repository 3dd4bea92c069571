import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/base/json.js";
import { placesInHeader, placesInPartHeader } from "../../../src/proxy/splice/header.js";
import { type FindPlaces, splice } from "../../../src/proxy/splice/place.js";
import { placesInText, placesInUntypedText } from "../../../src/proxy/splice/plain.js";
import { placesInForm, placesInPath, placesInQuery } from "../../../src/proxy/splice/url.js";
import { placesInXml } from "../../../src/proxy/splice/xml.js";

function spliced(find: FindPlaces, text: string, value: Json): string {
  const places = [...find(text)];
  return splice(
    text,
    places,
    places.map(() => value),
  );
}

const expressions = (find: FindPlaces, text: string) => [...find(text)].map(({ expression }) => expression.trim());

describe("values in text", () => {
  it.each<[string, FindPlaces, string, Json, string]>([
    ["plain text takes them as they are", placesInText, 'a {{ id }} "b"', '<&"\n', 'a <&"\n "b"'],
    ["objects are JSON there", placesInText, "{{ id }}", { a: [1] }, '{"a":[1]}'],
    ["null is nothing", placesInText, "<{{ id }}>", null, "<>"],
    ["a path percent-encodes", placesInPath, "/a/{{ id }}/b", "x/y z?#é", "/a/x%2Fy%20z%3F%23%C3%A9/b"],
    ["a query percent-encodes", placesInQuery, "?a={{id}}&b=1", "1&b=2 +", "?a=1%26b%3D2%20%2B&b=1"],
    ["encoded braces count", placesInQuery, "?a=%7B%7Bid%7d%7D", "v", "?a=v"],
    ["a form has plus for blanks", placesInForm, "a={{ id }}&b=c+d", "x y&z", "a=x+y%26z&b=c+d"],
    ["a lone surrogate does not fail", placesInQuery, "?a={{id}}", "\ud800", "?a=%EF%BF%BD"],
    [
      "XML escapes",
      placesInXml,
      '<a b="{{id}}">{{id}}</a>',
      `<&>"'`,
      '<a b="&lt;&amp;&gt;&quot;&apos;">&lt;&amp;&gt;&quot;&apos;</a>',
    ],
    ["CDATA does not", placesInXml, "<a><![CDATA[{{id}}]]></a>", "<&]]>", "<a><![CDATA[<&]]]]><![CDATA[>]]></a>"],
    [
      "and after CDATA XML does again",
      placesInXml,
      "<![CDATA[x]]><a>{{id}}</a><![CDATA[{{id}}]]>",
      "&",
      "<![CDATA[x]]><a>&amp;</a><![CDATA[&]]>",
    ],
    [
      "a comment starts no section",
      placesInXml,
      "<!-- <![CDATA[ --><a>{{id}}</a><![CDATA[{{id}}]]>",
      "<&",
      "<!-- <![CDATA[ --><a>&lt;&amp;</a><![CDATA[<&]]>",
    ],
    [
      "nor one in a processing instruction",
      placesInXml,
      "<?x <![CDATA[ ?><a>{{id}}</a>",
      "<",
      "<?x <![CDATA[ ?><a>&lt;</a>",
    ],
    [
      "nor one in the value of an entity",
      placesInXml,
      `<!DOCTYPE a [<!ENTITY x "<![CDATA[ >"><!ENTITY y '<![CDATA["'>]><a>{{id}}</a>`,
      "<",
      `<!DOCTYPE a [<!ENTITY x "<![CDATA[ >"><!ENTITY y '<![CDATA["'>]><a>&lt;</a>`,
    ],
    [
      "nor one in an expression, which the value replaces",
      placesInXml,
      "<a>{{ id | default: '<![CDATA[' }}</a><b>{{id}}</b>",
      "<",
      "<a>&lt;</a><b>&lt;</b>",
    ],
    [
      "and a section starts no comment",
      placesInXml,
      "<![CDATA[ <!-- {{id}} ]]><a>{{id}}</a>",
      "<",
      "<![CDATA[ <!-- < ]]><a>&lt;</a>",
    ],
    ["a header has UTF-8", placesInHeader, "Bearer {{id}}", "é", "Bearer \u00c3\u00a9"],
    [
      "braces in XML may be character references",
      placesInXml,
      "<a>&#123;&#x7b; id &rbrace;&#125;</a>",
      "<",
      "<a>&lt;</a>",
    ],
    [
      "with any number of zeros",
      placesInXml,
      `<a>&#${"0".repeat(20)}123;&#x${"0".repeat(20)}7B; id &#${"0".repeat(9)}125;&#x00007d;</a>`,
      "<",
      "<a>&lt;</a>",
    ],
    ["a stray brace before an expression stays", placesInQuery, "?a={%7B{id}}}", "v", "?a={v}"],
    ["a header of a part keeps its quotes", placesInPartHeader, 'name="{{ id }}"', 'a"b\r\nc', 'name="a%22b%0D%0Ac"'],
    ["JSON without a type is JSON", placesInUntypedText, '{"a":"{{ id }}"}', '","b":"', '{"a":"\\",\\"b\\":\\""}'],
    ["also unquoted", placesInUntypedText, " [{{ id }}]\n", '"', ' ["\\""]\n'],
    ["text that only begins like it is text", placesInUntypedText, "{a: {{ id }}}", '"', '{a: "}'],
    ["and so is an expression alone", placesInUntypedText, "{{ id }}", '"', '"'],
  ])("%s", (_, find, text, value, expected) => {
    expect(spliced(find, text, value)).toBe(expected);
  });

  it("are looked up by expressions with their escapes undone", () => {
    expect(expressions(placesInQuery, "?a={{+id+|+json:+%27$.x%27+}}")).toEqual(["id | json: '$.x'"]);
    expect(expressions(placesInPath, "/{{%20id%20}}")).toEqual(["id"]);
    expect(expressions(placesInXml, "<a>{{ id | json: &quot;$.x&#39;&#x22; }}</a>")).toEqual([`id | json: "$.x'"`]);
    expect(expressions(placesInHeader, "{{ t\u00c3\u00b6k }}")).toEqual(["tök"]);
  });

  it.each([
    ["plain text", placesInText],
    ["paths", placesInPath],
    ["queries", placesInQuery],
    ["forms", placesInForm],
    ["XML", placesInXml],
    ["headers", placesInHeader],
  ] as const)("leave every other character of %s alone", (_, find) => {
    const other = fc.string({ unit: "binary-ascii" }).filter((text) => !/[{}%]|\]\]>|CDATA/.test(text));
    fc.assert(
      fc.property(fc.array(other, { minLength: 1, maxLength: 6 }), (parts) => {
        expect(spliced(find, parts.join("{{ id }}"), "v")).toBe(parts.join("v"));
      }),
    );
  });
});
