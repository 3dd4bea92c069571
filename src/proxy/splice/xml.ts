import { expressionSpans } from "../../expressions/span.js";
import { asText, type FindPlaces } from "./place.js";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const NAMES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/**
 * XML: values are escaped so that they are text wherever they stand, in an element or in an attribute. In a CDATA section
 * nothing is escaped; a value that holds its end is split over two sections.
 */
export const placesInXml: FindPlaces = (text) => {
  const isLiteral = literalSections(text);
  return [...expressionSpans(text)].map(({ start, end, expression }) =>
    isLiteral(start)
      ? { start, end, expression, write: (value) => asText(value).replaceAll("]]>", "]]]]><![CDATA[>") }
      : {
          ...{ start, end, expression: unescaped(expression) },
          write: (value) => asText(value).replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char),
        },
  );
};

/** Whether a position lies in a CDATA section; to be asked from left to right. */
function literalSections(text: string): (position: number) => boolean {
  let start = text.indexOf("<![CDATA[");
  let end = start < 0 ? -1 : text.indexOf("]]>", start);
  return (position) => {
    while (start >= 0 && end >= 0 && end < position) {
      start = text.indexOf("<![CDATA[", end);
      end = start < 0 ? -1 : text.indexOf("]]>", start);
    }
    return start >= 0 && start < position;
  };
}

function unescaped(text: string): string {
  return text.replaceAll(/&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi, (whole, name, decimal, hex) => {
    if (typeof name === "string") return NAMES[name] ?? whole;
    const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
