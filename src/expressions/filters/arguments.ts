import { type Operand, toOperand } from "../operand.js";
import { unevaluable } from "../rejection.js";

/**
 * The arguments of one use of a filter, by position or by name (`reveal: 6` or `reveal: reveal_first: 6`). A null
 * argument counts as given: `reveal_last: data.missing` must not fall back to a default.
 */
export class FilterArguments {
  readonly #filter: string;
  readonly #positional: readonly Operand[];
  readonly #named: ReadonlyMap<string, Operand>;

  /** `values` in the template engine's form: a named argument is a pair of its name and value. */
  constructor(filter: string, values: readonly unknown[]) {
    this.#filter = filter;
    this.#named = new Map(values.filter(isNamed).map(([name, value]) => [name, toOperand(value)]));
    this.#positional = values.filter((value) => !isNamed(value)).map(toOperand);
  }

  /** A non-negative whole number, possibly as digits in quotes. Required without a `fallback`. */
  wholeNumber(position: number, name: string, fallback?: number): number {
    const value = this.#value(position, name);
    if (value === undefined && fallback !== undefined) return fallback;
    const number = literalWholeNumber(value);
    if (number !== undefined) return number;
    throw this.#needs(name, "a whole number");
  }

  /** A boolean, false by default; the documented samples write it in quotes. */
  flag(position: number, name: string): boolean {
    const value = this.#value(position, name);
    const flag = value === undefined ? false : literalFlag(value);
    if (flag !== undefined) return flag;
    throw this.#needs(name, "true or false");
  }

  /** A text of one character. Required without a `fallback`. */
  character(position: number, name: string, fallback?: string): string {
    const value = this.#value(position, name);
    if (value === undefined && fallback !== undefined) return fallback;
    const character = literalCharacter(value);
    if (character !== undefined) return character;
    throw this.#needs(name, "one character");
  }

  /** A text. Required without a `fallback`. */
  text(position: number, name: string, fallback?: string): string {
    const value = this.#value(position, name);
    if (value === undefined && fallback !== undefined) return fallback;
    const text = literalText(value);
    if (text !== undefined) return text;
    throw this.#needs(name, "a text");
  }

  #value(position: number, name: string): Operand | undefined {
    return this.#named.has(name) ? this.#named.get(name) : this.#positional[position];
  }

  #needs(name: string, what: string): Error {
    return unevaluable(`${this.#filter} needs ${what} as ${name}`);
  }
}

export function literalWholeNumber(value: Operand | undefined): number | undefined {
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

export function literalFlag(value: Operand): boolean | undefined {
  if (value === false || value === "false") return false;
  return value === true || value === "true" ? true : undefined;
}

export function literalCharacter(value: Operand | undefined): string | undefined {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && [...text].length === 1 ? text : undefined;
}

export function literalText(value: Operand | undefined): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

function isNamed(value: unknown): value is [string, unknown] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === "string";
}
