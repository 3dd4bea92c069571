import { isTokenId } from "./token-id.js";

/**
 * The content of one `{{ ... }}` of a detokenization request. `filters` is the text after the first `|`, or null
 * without one.
 */
export type Reference =
  | { readonly form: "data"; readonly tokenId: string; readonly filters: string | null }
  | { readonly form: "token"; readonly tokenId: string; readonly filters: string | null }
  | { readonly form: "config"; readonly name: string; readonly filters: string | null }
  /** `{{ transform_identifier: 'name' }}`: the result of the named transform of a proxy. */
  | { readonly form: "transform_identifier"; readonly name: string; readonly filters: string | null }
  /** `{{ encrypted | json: '$.data' }}`: the decrypted BT-ENCRYPTED header. Shadows the data of a token of that id. */
  | { readonly form: "encrypted"; readonly filters: string | null };

/** A name and a colon. An id of that form (`ab:cd`) can only be written as `token: ab:cd`. */
const PREFIXED = /^([A-Za-z_]\w*)\s*:\s*(.*)$/s;

/** Why a text is not a reference, worded to follow a field's name. It does not repeat the text. */
export interface NoReference {
  readonly rejected: string;
}

/**
 * Parses the text between `{{` and `}}`. Ids are not Liquid identifiers (they may start with a digit and have blanks,
 * quotes or dots), so they are extracted here; the expression language parses the filters. Returns a reason instead of
 * throwing, because a large binary body may have many meaningless braces.
 */
export function parseReference(text: string): Reference | NoReference {
  const bar = text.indexOf("|");
  const subject = (bar === -1 ? text : text.slice(0, bar)).trim();
  const filters = bar === -1 ? null : text.slice(bar + 1).trim();
  if (filters === "") return { rejected: "must name a filter after the | of its expression" };
  if (subject === "encrypted") return { form: "encrypted", filters };
  const [, prefix, argument = ""] = PREFIXED.exec(subject) ?? [];
  switch (prefix) {
    case undefined:
      return isTokenId(subject) ? { form: "data", tokenId: subject, filters } : NO_ID;
    case "token":
      return isTokenId(argument) ? { form: "token", tokenId: argument, filters } : NO_ID;
    case "config":
    case "transform_identifier": {
      const name = unquoted(argument);
      return name === "" ? NO_NAME : { form: prefix, name, filters };
    }
    default:
      return NO_PREFIX;
  }
}

const NO_ID: NoReference = {
  rejected: "must name a token by its id in each expression: {{ <id> }} or {{ token: <id> }}",
};
const NO_NAME: NoReference = { rejected: "must give a name after the prefix of its expression" };
const NO_PREFIX: NoReference = {
  rejected: "must not use an unknown prefix in an expression: {{ <id> }} and {{ token: <id> }} are known",
};

function unquoted(text: string): string {
  return /^(['"])(.*)\1$/s.exec(text)?.[2] ?? text;
}
