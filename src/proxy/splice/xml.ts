import { asText, type FindPlaces } from "./place.js";
import { type BraceSpelling, spelledSpans } from "./spelled-braces.js";
import { XmlMarkup } from "./xml-markup.js";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const NAMES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/**
 * Braces as they are, or as character references: a parser reads both alike. Written by hand, because 5 MB may have a
 * million.
 */
const SPELLING: BraceSpelling = {
  lead: 0x26,
  read(text, at) {
    const next = text.charCodeAt(at + 1);
    if (next === 0x23) return numericBrace(text, at);
    // Neither `l` nor `r`.
    if (next !== 0x6c && next !== 0x72) return 0;
    const named = NAMED.find(({ name }) => text.startsWith(name, at + 1));
    return named ? named.sign * (named.name.length + 1) : 0;
  },
};

const NAMED = [
  { name: "lbrace;", sign: 1 },
  { name: "lcub;", sign: 1 },
  { name: "rbrace;", sign: -1 },
  { name: "rcub;", sign: -1 },
];

/** XML allows any number of leading zeros. They hold no ampersand, so each is read once. */
function numericBrace(text: string, at: number): number {
  const isHex = (text.charCodeAt(at + 2) | 0x20) === 0x78;
  const first = at + (isHex ? 3 : 2);
  let digits = first;
  while (text.charCodeAt(digits) === 0x30) digits += 1;
  const end = digits + (isHex ? 2 : 3);
  if (text.charCodeAt(end) !== 0x3b) return 0;
  const number = Number.parseInt(text.slice(digits, end), isHex ? 16 : 10);
  return number === 0x7b ? end + 1 - at : number === 0x7d ? at - end - 1 : 0;
}

/**
 * XML: values are escaped as text for both elements and attributes. In a CDATA section nothing is escaped; a value that
 * contains its end is split over two sections.
 */
export const placesInXml: FindPlaces = function* (text) {
  const markup = new XmlMarkup(text);
  for (const { start, end, contentStart, contentEnd } of spelledSpans(text, SPELLING)) {
    const content = text.slice(contentStart, contentEnd);
    yield markup.isSectionAround(start, end)
      ? { start, end, expression: content, write: (value) => asText(value).replaceAll("]]>", "]]]]><![CDATA[>") }
      : {
          start,
          end,
          expression: unescaped(content),
          write: (value) => asText(value).replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char),
        };
  }
};

function unescaped(text: string): string {
  return text.replaceAll(/&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi, (whole, name, decimal, hex) => {
    if (typeof name === "string") return NAMES[name] ?? whole;
    const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
