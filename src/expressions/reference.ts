import { invalid } from "../base/fault.js";
import { isTokenId } from "./token-id.js";

/**
 * What one `{{ ... }}` of a detokenization request asks for. `filters` is the text after the first `|`, or null without
 * one.
 */
export type Reference =
  /** `{{ <id> }}`: the token's data. */
  | { readonly form: "data"; readonly tokenId: string; readonly filters: string | null }
  /** `{{ token: <id> }}`: the whole token. */
  | { readonly form: "token"; readonly tokenId: string; readonly filters: string | null }
  /** `{{ config: NAME }}`: an entry of the configuration of a proxy or reactor. */
  | { readonly form: "config"; readonly name: string; readonly filters: string | null }
  /** `{{ transform_identifier: 'name' }}`: what the named transform of a proxy made. */
  | { readonly form: "transform_identifier"; readonly name: string; readonly filters: string | null }
  /** `{{ encrypted | json: '$.data' }}`: the decrypted BT-ENCRYPTED header. Shadows the data of a token of that id. */
  | { readonly form: "encrypted"; readonly filters: string | null };

/** A name and a colon. An id that looks like that (`ab:cd`) can only be written as `token: ab:cd`. */
const PREFIXED = /^([A-Za-z_]\w*)\s*:\s*(.*)$/s;

/**
 * Parses what stands between `{{` and `}}`. Ids are no Liquid identifiers (they may start with a digit and hold blanks,
 * quotes or dots), so they are taken out here; the filters are left for the expression language.
 *
 * @throws a fault on the place that `field` names; it says what is wrong without repeating the text.
 */
export function parseReference(text: string, field: () => string): Reference {
  const bar = text.indexOf("|");
  const subject = (bar === -1 ? text : text.slice(0, bar)).trim();
  const filters = bar === -1 ? null : text.slice(bar + 1).trim();
  if (filters === "") throw invalid(field(), "must name a filter after the | of its expression");
  if (subject === "encrypted") return { form: "encrypted", filters };
  const [, prefix, argument = ""] = PREFIXED.exec(subject) ?? [];
  switch (prefix) {
    case undefined:
      return { form: "data", tokenId: requireTokenId(subject, field), filters };
    case "token":
      return { form: "token", tokenId: requireTokenId(argument, field), filters };
    case "config":
    case "transform_identifier":
      return { form: prefix, name: requireName(argument, field), filters };
    default:
      throw invalid(
        field(),
        "must not use an unknown prefix in an expression: {{ <id> }} and {{ token: <id> }} are known",
      );
  }
}

function requireTokenId(text: string, field: () => string): string {
  if (!isTokenId(text))
    throw invalid(field(), "must name a token by its id in each expression: {{ <id> }} or {{ token: <id> }}");
  return text;
}

/** The name, without the quotes that may stand around it. */
function requireName(text: string, field: () => string): string {
  const name = /^(['"])(.*)\1$/s.exec(text)?.[2] ?? text;
  if (name === "") throw invalid(field(), "must give a name after the prefix of its expression");
  return name;
}
