import { isExact } from "../../base/exact-number.js";
import { invalidFields } from "../../base/fault.js";
import { type Json, setOwn } from "../../base/json.js";

/**
 * Numbers with 16 digits or more, or an exponent: the only ones that may not survive a double. They stand after `:`,
 * `,`, `[`, white space or the start; a text that looks like that is a false alarm and costs a second parse.
 */
const SUSPECT = /(?:^|[:,[\s])-?(?:[\d.]{16,}|[\d.]+[eE])/;

/**
 * Parses JSON, refusing numbers whose digits a double does not keep: a vault must not store other digits than it was
 * given.
 * @throws {SyntaxError} for what is not JSON.
 * @throws {Fault} validation_failed naming each such number.
 */
export function parseExactJson(text: string): Json {
  const parsed: Json = JSON.parse(text);
  requireExactNumbers(text);
  return parsed;
}

/** The check alone, for a text that somebody else parses. Throws like {@link parseExactJson}. */
export function requireExactNumbers(text: string): void {
  if (!SUSPECT.test(text)) return;
  const faults: Record<string, string[]> = {};
  findInexact(text, (path) => {
    setOwn(faults, path, ["holds a number with more digits than JSON numbers keep; send it as a string"]);
  });
  if (Object.keys(faults).length > 0) throw invalidFields(faults);
}

/** Visits the text of every number. JSON.parse gives a reviver the source of each primitive (ECMAScript, JSON.parse source text access). */
function findInexact(text: string, report: (path: string) => void): void {
  const children = new Map<object, string[]>();
  JSON.parse(text, function (this: object, key: string, value: unknown, context?: { source?: string }) {
    const step = Array.isArray(this) ? `[${key}]` : key;
    const found: string[] = [];
    if (typeof value === "number" && context?.source !== undefined && !isExact(context.source, value)) found.push("");
    if (typeof value === "object" && value !== null) found.push(...(children.get(value) ?? []));
    if (found.length > 0) {
      const mine = children.get(this) ?? [];
      mine.push(...found.map((rest) => (rest === "" || rest.startsWith("[") ? `${step}${rest}` : `${step}.${rest}`)));
      children.set(this, mine);
    }
    if (key === "" && !Array.isArray(this)) for (const path of found) report(path || "value");
    return value;
  });
}
