import type { Json } from "../../base/json.js";

/** An expression in a text of the request, and how its value is written there. */
export interface Replacement {
  /** The range of the text that the value replaces. */
  readonly start: number;
  readonly end: number;
  /** The text between the braces, unescaped. */
  readonly expression: string;
  /**
   * Formats the value for the range from `start` to `end`.
   * @throws {UnwritableValue} if it does not fit its surroundings.
   */
  write(value: Json): string;
}

/** Finds the expressions of a text of some format, from left to right. Lazy: finds no more than are consumed. */
export type FindPlaces = (text: string) => Iterable<Replacement>;

/** Limit of expressions in one request: far more than its tokens could need. */
export const MAX_EXPRESSIONS = 2_000;

/** A value cannot be written at its place. The reason follows a field's name and does not contain the value. */
export class UnwritableValue extends Error {
  override readonly name = "UnwritableValue";
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

/** The text with each place replaced by its value. Every other character stays. */
export function splice(text: string, places: readonly Replacement[], values: readonly Json[]): string {
  let spliced = "";
  let from = 0;
  for (const [index, place] of places.entries()) {
    spliced += text.slice(from, place.start) + place.write(values[index] ?? null);
    from = place.end;
  }
  return spliced + text.slice(from);
}

/** A value within a longer text: objects as JSON, null as empty. */
export function asText(value: Json): string {
  if (value === null) return "";
  return typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}
