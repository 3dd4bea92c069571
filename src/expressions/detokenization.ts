import { invalid } from "../base/fault.js";
import type { Json, JsonObject } from "../base/json.js";
import { Budget } from "./budget.js";
import { evaluate } from "./expression.js";
import { mapTexts, placeName } from "./json-texts.js";
import { parseReference, type Reference } from "./reference.js";
import { type ExpressionSpan, expressionSpans } from "./span.js";

/** A token that a body refers to. */
export interface TokenReference {
  readonly tokenId: string;
  /** Some reference asks for the token object and not only for its data. */
  readonly wholeToken: boolean;
}

/** What a caller may see of a token. */
export interface TokenView {
  readonly data: Json;
  /** The token object as `{{ token: <id> }}` shows it, `data` and `enrichments` included. */
  readonly token: JsonObject;
}

/** Gives the view of a token, or undefined for one that does not exist. */
export type TokenLookup = (tokenId: string) => TokenView | undefined;

/** More expressions than any real request has (100 tokens may be detokenized in one), and few enough to be quick about. */
const MOST_EXPRESSIONS = 2_000;

/** `root` names the body in errors: `args` of a reactor. Without it, names start at the body's own keys. */
export interface BodyOptions {
  readonly root?: string;
}

/**
 * The tokens that the texts of `body` refer to, each once, in the order of their first reference.
 *
 * @throws a fault on the place of an expression that is malformed or of a form that bodies cannot use.
 */
export function findReferences(body: Json, options: BodyOptions = {}): TokenReference[] {
  const found = new Map<string, boolean>();
  let count = 0;
  mapTexts(body, (text, place) => {
    for (const { expression } of expressionSpans(text)) {
      count += 1;
      if (count > MOST_EXPRESSIONS) {
        throw invalid(placeName(null, options.root ?? null), `must hold at most ${MOST_EXPRESSIONS} expressions`);
      }
      const { tokenId, form } = tokenReference(expression, () => placeName(place, options.root ?? null));
      found.set(tokenId, form === "token" || found.get(tokenId) === true);
    }
    return null;
  });
  return [...found].map(([tokenId, wholeToken]) => ({ tokenId, wholeToken }));
}

/**
 * A copy of `body` with its references replaced. A text that is nothing but one expression takes the result with its type;
 * elsewhere results become text, objects as JSON and null as nothing. Results are not searched for references again.
 *
 * @throws a fault on the place of a reference that is malformed, that `lookup` does not know, or whose filters fail.
 */
export function resolveReferences(body: Json, lookup: TokenLookup, options: BodyOptions = {}): Json {
  const budget = new Budget();
  return mapTexts(body, (text, place) => {
    const field = () => placeName(place, options.root ?? null);
    const spans = [...expressionSpans(text)];
    const resolve = ({ expression }: ExpressionSpan, form: (reference: ReferenceToToken) => ReferenceToToken) => {
      const reference = tokenReference(expression, field);
      const view = lookup(reference.tokenId);
      if (view === undefined) throw invalid(field(), "must refer to tokens that exist");
      return evaluateReference(form(reference), view, field, budget);
    };
    const [first] = spans;
    if (first === undefined) return text;
    if (first.start === 0 && first.end === text.length) return resolve(first, (reference) => reference);
    const pieces = spans.flatMap((span, at) => [
      text.slice(spans[at - 1]?.end ?? 0, span.start),
      resolve(span, asText) ?? "",
    ]);
    return [...pieces, text.slice(spans.at(-1)?.end)].join("");
  });
}

/**
 * The value of one reference to a token. `field` names its place in an error.
 *
 * @throws a fault on that place when the filters are malformed or fail.
 */
export function evaluateReference(
  reference: ReferenceToToken,
  view: TokenView,
  field: () => string,
  budget = new Budget(),
): Json {
  const subject = reference.form;
  const bindings = subject === "token" ? { token: view.token } : { data: view.data };
  const expression = reference.filters === null ? `{{ ${subject} }}` : `{{ ${subject} | ${reference.filters} }}`;
  const outcome = evaluate(expression, bindings, budget);
  if ("rejected" in outcome) throw invalid(field(), outcome.rejected);
  return outcome.value;
}

/** A reference that the data of a token answers. */
export type ReferenceToToken = Extract<Reference, { readonly tokenId: string }>;

function tokenReference(expression: string, field: () => string): ReferenceToToken {
  const reference = parseReference(expression, field);
  if (reference.form === "data" || reference.form === "token") return reference;
  throw invalid(field(), `must not use the ${reference.form} expression, which is not available here`);
}

/** The same reference, its result as text. Left to a filter, so that the budget bounds it. */
function asText(reference: ReferenceToToken): ReferenceToToken {
  const filters = reference.filters === null ? "json_stringify" : `${reference.filters} | json_stringify`;
  return { ...reference, filters };
}
