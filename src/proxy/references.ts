import { Fault, invalid } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { Budget } from "../expressions/budget.js";
import { evaluateReference, type TokenLookup } from "../expressions/detokenization.js";
import { expressionFault, foundNothing, type PlaceOf } from "../expressions/expression-place.js";
import { parseReference, type Reference } from "../expressions/reference.js";
import { type FindPlaces, MAX_EXPRESSIONS, type Replacement, splice, UnwritableValue } from "./splice/place.js";

/** Tokens that one request may refer to. */
export const MAX_TOKENS = 100;
/** Each pair of opening braces is checked for an expression: a million of them take 0.3 s. */
const MAX_OPENINGS = 10_000;

export interface SearchedText {
  /** As errors name it: `body`, `headers.X-Card`. */
  readonly field: string;
  readonly text: string;
  readonly find: FindPlaces;
  /** The position of a character of the text in its field, for errors: "line 3, column 14". */
  positionOf(offset: number): string;
  /** Receives the text with references replaced; again if resolving is repeated. */
  take(text: string): void;
}

interface FoundReference {
  readonly place: Replacement;
  readonly reference: Reference;
  readonly locate: PlaceOf;
}

interface ScannedText {
  readonly searched: SearchedText;
  readonly found: readonly FoundReference[];
}

/** The references in all parts of a request: first found, then loaded once, then replaced. */
export class RequestReferences {
  readonly #texts: ScannedText[] = [];
  readonly #afterwards: (() => void)[] = [];
  #expressions = 0;

  /** @throws {Fault} validation_failed naming the field of an expression that is malformed, or of too many. */
  scan(searched: SearchedText): void {
    const { field, text, find } = searched;
    if (hasMoreOpenings(text, MAX_OPENINGS))
      throw invalid(field, `must hold at most ${MAX_OPENINGS} opening braces {{`);
    const found: FoundReference[] = [];
    try {
      for (const place of find(text)) {
        const locate = () => ({ field, position: searched.positionOf(place.start) });
        const reference = parseReference(place.expression);
        if ("rejected" in reference) throw expressionFault(locate, reference.rejected);
        this.#expressions += 1;
        if (this.#expressions > MAX_EXPRESSIONS)
          throw invalid(field, `must hold at most ${MAX_EXPRESSIONS} expressions`);
        found.push({ place, reference, locate });
      }
    } catch (error) {
      throw error instanceof UnwritableValue ? invalid(field, error.reason) : error;
    }
    if (found.length > 0) this.#texts.push({ searched, found });
  }

  /** Registers a callback that runs after all references were replaced, in the order of registration. */
  afterwards(run: () => void): void {
    this.#afterwards.push(run);
  }

  /** The distinct tokens referred to. @throws {Fault} validation_failed for more than a hundred. */
  tokenIds(): string[] {
    const ids = new Set<string>();
    for (const { found } of this.#texts) {
      for (const { reference } of found) if ("tokenId" in reference) ids.add(reference.tokenId);
    }
    if (ids.size > MAX_TOKENS) {
      throw new Fault(
        "validation_failed",
        `A request may refer to at most ${MAX_TOKENS} tokens; this one refers to ${ids.size}.`,
      );
    }
    return [...ids];
  }

  /** @throws {Fault} validation_failed naming the field of an expression that fails or finds nothing. */
  resolve(lookup: TokenLookup, configuration: Readonly<Record<string, string>>): void {
    const budget = new Budget();
    for (const { searched, found } of this.#texts) {
      const values = found.map((reference) => evaluated(reference, lookup, configuration, budget));
      const places = found.map(({ place }) => place);
      searched.take(spliced(searched, places, values));
    }
    for (const run of this.#afterwards) run();
  }
}

function spliced({ field, text }: SearchedText, places: readonly Replacement[], values: readonly Json[]): string {
  try {
    return splice(text, places, values);
  } catch (error) {
    throw error instanceof UnwritableValue ? invalid(field, error.reason) : error;
  }
}

/** Whether a text has more than `most` opening braces, plain or percent-encoded. Stops counting there. */
function hasMoreOpenings(text: string, most: number): boolean {
  let count = 0;
  for (let at = text.indexOf("{{"); at >= 0 && count <= most; at = text.indexOf("{{", at + 2)) count += 1;
  if (count > most || !text.includes("7") || !/%7b/i.test(text)) return count > most;
  for (const _ of text.matchAll(/(?:\{|%7B){2}/gi)) {
    count += 1;
    if (count > 2 * most) return true;
  }
  return false;
}

function evaluated(
  { place, reference, locate }: FoundReference,
  lookup: TokenLookup,
  configuration: Readonly<Record<string, string>>,
  budget: Budget,
): Json {
  const { expression } = place;
  switch (reference.form) {
    case "data":
    case "token": {
      const view = lookup(reference.tokenId);
      if (!view) throw expressionFault(locate, "must refer to tokens that exist");
      const value = evaluateReference(reference, view, { expression, locate, budget });
      // A rule hides the value: the destination would get an empty text.
      if (value === null && view.data === null) throw foundNothing(locate, expression);
      return value;
    }
    case "config": {
      const value = Object.hasOwn(configuration, reference.name) ? configuration[reference.name] : undefined;
      if (value === undefined || reference.filters !== null) {
        throw expressionFault(locate, "must name an entry of the configuration, without filters");
      }
      return value;
    }
    case "encrypted":
    case "transform_identifier":
      throw expressionFault(locate, `must not use the ${reference.form} expression, which is not available here`);
  }
}
