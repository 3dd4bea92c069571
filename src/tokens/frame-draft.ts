import type { Caller } from "../access/caller.js";
import type { TokenTemplate } from "../access/pages.js";
import { invalid } from "../base/fault.js";
import { requireNoCodeIn } from "./code-names.js";
import type { TokenDraft } from "./token.js";

/** What the frame of a hosted field may not ask for: an expression, or an id, shows a page what is typed. */
const OF_TEMPLATES = [
  ["id", ({ id }: TokenDraft) => id],
  ["mask", ({ attributes }: TokenDraft) => attributes.mask],
  ["search_indexes", ({ attributes }: TokenDraft) => attributes.searchIndexes],
  ["fingerprint_expression", ({ attributes }: TokenDraft) => attributes.fingerprintExpression],
  ["deduplicate_token", ({ deduplicate }: TokenDraft) => deduplicate],
] as const;

/**
 * The draft as its caller may have it. A page chose all of a frame's draft except the values in its data, so of the rest
 * only type, containers, metadata, expiry and the name of a template count. The tenant's setting to deduplicate does not:
 * equal ids would tell the page of equal values.
 * @throws {Fault} validation_failed naming the field.
 */
export function permittedDraft(caller: Caller, draft: TokenDraft): TokenDraft {
  if (!caller.frame) {
    if (draft.template !== undefined) throw invalid("template", "is for hosted fields, which send a pass");
    return draft;
  }
  for (const [field, givenIn] of OF_TEMPLATES) {
    if (givenIn(draft) === undefined) continue;
    throw invalid(
      field,
      "must not be given by a page: save it in a template of the application, and name the template",
    );
  }
  requireNoCodeIn(draft);
  const { metadata } = draft.attributes;
  const { id, deduplicate = false, ...attributes } = attributesOf(templateOf(caller, draft.template));
  return {
    ...draft,
    id,
    deduplicate,
    isLenient: true,
    attributes: { ...attributes, ...(metadata ? { metadata } : {}) },
  };
}

type OfTemplate = Omit<TokenTemplate, "name">;

function attributesOf({ mask, searchIndexes, fingerprintExpression, id, deduplicate }: OfTemplate): OfTemplate {
  return {
    ...(mask === undefined ? {} : { mask }),
    ...(searchIndexes === undefined ? {} : { searchIndexes }),
    ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
    ...(id === undefined ? {} : { id }),
    ...(deduplicate === undefined ? {} : { deduplicate }),
  };
}

function templateOf({ principal }: Caller, name: string | undefined): OfTemplate {
  if (name === undefined) return {};
  const templates = principal.kind === "application" ? principal.pages?.templates : undefined;
  const found = templates?.find((template) => template.name === name);
  if (!found) throw invalid("template", "must be the name of a template of the application");
  return found;
}
