import { invalid } from "../base/fault.js";

/** One `field:value` of a search. */
export interface SearchTerm {
  readonly field: string;
  /** Behind `metadata.`. */
  readonly key: string | undefined;
  readonly value: string;
}

const EXPECTED = 'must be terms such as metadata.name:value or data:"a value", joined by AND';

/** A name, a colon, and a value that is quoted when it holds blanks; a backslash keeps a quote inside one. */
const TERM = /^([A-Za-z_]+)(?:\.((?:[^\s:"\\]|\\.)+|"(?:[^"\\]|\\.)*"))?:(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))/;

/**
 * Reads the terms of a search query. What they may be combined with is the caller's to say.
 * @throws {Fault} validation_failed naming `query`.
 */
export function parseSearchTerms(query: string): SearchTerm[] {
  const terms: SearchTerm[] = [];
  let rest = query.trim();
  while (rest !== "") {
    const [whole, field, key, quoted, bare] = TERM.exec(rest) ?? [];
    const value = quoted === undefined ? bare : withoutEscapes(quoted);
    if (!whole || !field || value === undefined || value === "") throw invalid("query", EXPECTED);
    if ((field === "metadata") !== (key !== undefined)) {
      throw invalid(
        "query",
        field === "metadata" ? "must name the metadata: metadata.name:value" : `must not have a name behind ${field}`,
      );
    }
    terms.push({ field, key: key === undefined ? undefined : unquote(key), value });
    rest = rest.slice(whole.length);
    if (rest === "") break;
    const joint = /^\s+AND\s+(?=\S)/.exec(rest)?.[0];
    if (!joint) throw invalid("query", EXPECTED);
    rest = rest.slice(joint.length);
  }
  return terms;
}

function unquote(text: string): string {
  return withoutEscapes(text.startsWith('"') ? text.slice(1, -1) : text);
}

function withoutEscapes(text: string): string {
  return text.replace(/\\(.)/g, "$1");
}
