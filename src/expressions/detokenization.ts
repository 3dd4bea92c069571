import { invalid } from "../base/fault.js";
import type { Json, JsonObject } from "../base/json.js";
import { Budget } from "./budget.js";
import { evaluate } from "./expression.js";
import { expressionFault, foundNothing, type PlaceOf } from "./expression-place.js";
import { type JsonLocation, mapTexts, placeName, visitTexts } from "./json-texts.js";
import { parseReference, type Reference } from "./reference.js";
import { FOUND_NOTHING } from "./rejection.js";
import { type ExpressionSpan, expressionSpans, soleExpression } from "./span.js";

export interface TokenReference {
  readonly tokenId: string;
  /** Whether any reference uses the token object and not only its data. */
  readonly wholeToken: boolean;
}

export interface TokenView {
  readonly data: Json;
  /** The token object as `{{ token: <id> }}` shows it, `data` and `enrichments` included. */
  readonly token: JsonObject;
}

/** Returns the view of a token, or undefined if it does not exist. */
export type TokenLookup = (tokenId: string) => TokenView | undefined;

/**
 * More expressions than any real request has (100 tokens may be detokenized in one), and few enough to process quickly.
 */
const MAX_EXPRESSIONS = 2_000;

/** `root` names the body in errors: `args` of a reactor. Without it, names start at the body's own keys. */
export interface BodyOptions {
  readonly root?: string | undefined;
}

/**
 * Finds the tokens that the texts of `body` refer to, each once, in the order of first reference.
 * @throws {Fault} validation_failed naming the place of an expression that is malformed or has a form that bodies
 * cannot use.
 */
export function findReferences(body: Json, options: BodyOptions = {}): TokenReference[] {
  const found = new Map<string, TokenReference>();
  let count = 0;
  visitTexts(body, (text, place) => {
    const sole = soleExpression(text);
    for (const span of sole ? [sole] : expressionSpans(text)) {
      count += 1;
      if (count > MAX_EXPRESSIONS) {
        throw invalid(placeName(null, options.root ?? null), `must hold at most ${MAX_EXPRESSIONS} expressions`);
      }
      const { tokenId, form } = tokenReference(span.expression, placeIn(text, span, place, options));
      const wholeToken = form === "token";
      if (wholeToken || !found.has(tokenId)) found.set(tokenId, { tokenId, wholeToken });
    }
  });
  return [...found.values()];
}

/**
 * Copies `body` with its references replaced. A text that is exactly one expression becomes the result with its type;
 * elsewhere results become text, objects JSON, and null empty. Results are not searched for references.
 * @throws {Fault} validation_failed naming the place of a reference that is malformed, unknown to `lookup`, fails in
 * its filters, or finds nothing.
 */
export function resolveReferences(body: Json, lookup: TokenLookup, options: BodyOptions = {}): Json {
  const budget = new Budget();
  const resolve = (text: string, span: ExpressionSpan, place: JsonLocation | null): Json => {
    const { expression } = span;
    const locate = placeIn(text, span, place, options);
    const reference = tokenReference(expression, locate);
    const view = lookup(reference.tokenId);
    if (view === undefined) throw expressionFault(locate, "must refer to tokens that exist");
    const isSole = span.start === 0 && span.end === text.length;
    return evaluateReference(isSole ? reference : asText(reference), view, { expression, locate, budget });
  };
  return mapTexts(body, (text, place) => {
    const sole = soleExpression(text);
    if (sole) return resolve(text, sole, place);
    const spans = [...expressionSpans(text)];
    if (spans.length === 0) return text;
    const pieces = spans.flatMap((span, at) => [
      text.slice(spans[at - 1]?.end ?? 0, span.start),
      resolve(text, span, place) ?? "",
    ]);
    return [...pieces, text.slice(spans.at(-1)?.end)].join("");
  });
}

export interface ReferenceSource {
  /** As the caller wrote it, between the braces. */
  readonly expression: string;
  readonly locate: PlaceOf;
  readonly budget: Budget;
}

/**
 * Evaluates one reference to a token. A path without a match fails unless a `default` follows: an empty text would
 * reach the recipient unnoticed.
 * @throws {Fault} validation_failed naming the place if the filters are malformed or fail, or find nothing.
 */
export function evaluateReference(
  reference: ReferenceToToken,
  view: TokenView,
  { expression, locate, budget }: ReferenceSource,
): Json {
  const subject = reference.form;
  const bindings = subject === "token" ? { token: view.token } : { data: view.data };
  const template = reference.filters === null ? `{{ ${subject} }}` : `{{ ${subject} | ${reference.filters} }}`;
  const outcome = evaluate(template, bindings, budget, { mustFind: true });
  if (!("rejected" in outcome)) return outcome.value;
  if (outcome.rejected === FOUND_NOTHING) throw foundNothing(locate, expression);
  throw expressionFault(locate, outcome.rejected);
}

export type ReferenceToToken = Extract<Reference, { readonly tokenId: string }>;

function tokenReference(expression: string, locate: PlaceOf): ReferenceToToken {
  const reference = parseReference(expression);
  if ("rejected" in reference) throw expressionFault(locate, reference.rejected);
  if (reference.form === "data" || reference.form === "token") return reference;
  throw expressionFault(locate, `must not use the ${reference.form} expression, which is not available here`);
}

/**
 * A text that is one expression is named by its field alone; in a longer text, also by the position of the expression.
 */
function placeIn(
  text: string,
  { start, end }: ExpressionSpan,
  place: JsonLocation | null,
  { root }: BodyOptions,
): PlaceOf {
  return () => ({
    field: placeName(place, root ?? null),
    position: start === 0 && end === text.length ? undefined : `character ${start + 1}`,
  });
}

/** The reference with its result as text. A filter converts it, which the budget bounds. */
function asText(reference: ReferenceToToken): ReferenceToToken {
  const filters = reference.filters === null ? "json_stringify" : `${reference.filters} | json_stringify`;
  return { ...reference, filters };
}
