import { Fault, invalid } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { Budget } from "../expressions/budget.js";
import { evaluateReference, type TokenLookup } from "../expressions/detokenization.js";
import { parseReference, type Reference } from "../expressions/reference.js";
import { type FindPlaces, type Place, splice } from "./splice/place.js";

/** Tokens that one request may refer to. */
const MAX_TOKENS = 100;
/** Far more expressions than tokens mean a mistake, and cost time. */
const MAX_EXPRESSIONS = 2_000;
/** Each pair of opening braces is looked at for an expression: a million of them take 0.3 s. */
const MAX_OPENINGS = 10_000;

/** A text of the request with the expressions in it. */
interface ScannedPart {
  readonly name: string;
  readonly text: string;
  readonly places: readonly { readonly place: Place; readonly reference: Reference }[];
  take(text: string): void;
}

/** What a request refers to, in all of its parts: found first, looked up once, put in last. */
export class RequestReferences {
  readonly #parts: ScannedPart[] = [];
  #expressions = 0;

  /**
   * Scans one part. `take` is given the text with the values in it.
   * @throws {Fault} validation_failed naming the part, for a malformed expression.
   */
  scan(name: string, text: string, find: FindPlaces, take: (text: string) => void): void {
    if (hasMoreOpenings(text, MAX_OPENINGS)) throw invalid(name, `must hold at most ${MAX_OPENINGS} opening braces {{`);
    const found = find(text);
    if (found.length === 0) return;
    const places = found.map((place) => ({ place, reference: parseReference(place.expression, () => name) }));
    this.#expressions += places.length;
    if (this.#expressions > MAX_EXPRESSIONS) throw invalid(name, `must hold at most ${MAX_EXPRESSIONS} expressions`);
    this.#parts.push({ name, text, places, take });
  }

  /** The distinct tokens referred to. @throws {Fault} validation_failed for more than a hundred. */
  tokenIds(): string[] {
    const ids = new Set<string>();
    for (const { places } of this.#parts) {
      for (const { reference } of places) if ("tokenId" in reference) ids.add(reference.tokenId);
    }
    if (ids.size > MAX_TOKENS) {
      throw new Fault(
        "validation_failed",
        `A request may refer to at most ${MAX_TOKENS} tokens; this one refers to ${ids.size}.`,
      );
    }
    return [...ids];
  }

  /** Puts the values in. @throws {Fault} validation_failed naming the part where a filter fails. */
  resolve(lookup: TokenLookup, configuration: Readonly<Record<string, string>>): void {
    const budget = new Budget();
    for (const { name, text, places, take } of this.#parts) {
      const values = places.map(({ reference }) => evaluated(reference, name, lookup, configuration, budget));
      take(
        splice(
          text,
          places.map(({ place }) => place),
          values,
        ),
      );
    }
  }
}

/** Whether a text holds more than so many opening braces, as they are or percent-encoded. Looks no further than that. */
function hasMoreOpenings(text: string, most: number): boolean {
  let count = 0;
  for (let at = text.indexOf("{{"); at >= 0 && count <= most; at = text.indexOf("{{", at + 2)) count += 1;
  if (count > most || !/%7b/i.test(text)) return count > most;
  for (const _ of text.matchAll(/(?:\{|%7B){2}/gi)) {
    count += 1;
    if (count > 2 * most) return true;
  }
  return false;
}

function evaluated(
  reference: Reference,
  part: string,
  lookup: TokenLookup,
  configuration: Readonly<Record<string, string>>,
  budget: Budget,
): Json {
  switch (reference.form) {
    case "data":
    case "token": {
      const view = lookup(reference.tokenId);
      if (!view) throw invalid(part, "must refer to tokens that exist");
      return evaluateReference(reference, view, () => part, budget);
    }
    case "config": {
      const value = Object.hasOwn(configuration, reference.name) ? configuration[reference.name] : undefined;
      if (value === undefined || reference.filters !== null) {
        throw invalid(part, "must name an entry of the configuration, without filters");
      }
      return value;
    }
    case "encrypted":
    case "transform_identifier":
      throw invalid(part, `must not use the ${reference.form} expression, which is not available here`);
  }
}
