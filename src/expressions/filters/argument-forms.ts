import { pathProblem } from "../json-path.js";
import type { Operand } from "../operand.js";
import { literalCharacter, literalFlag, literalText, literalWholeNumber } from "./arguments.js";
import { EXPIRY_FORMAT_NEEDED, isExpiryFormat } from "./card.js";
import { readHmacAlgorithm } from "./encoding.js";

/** What an argument of a filter must be. Its place in the filter's list is its position. */
interface ArgumentForm {
  readonly name: string;
  readonly required: boolean;
  /** What is wrong with a value, to follow the filter's name: `needs a whole number as length`. */
  problem(value: Operand): string | undefined;
}

export interface WrittenArgument {
  /** Undefined for an argument by position. */
  readonly name: string | undefined;
  /** Undefined unless it is a literal. */
  readonly value: Operand | undefined;
}

/** The arguments of our own filters, which take them by position or by name. */
const OURS: ReadonlyMap<string, readonly ArgumentForm[]> = new Map([
  ["alias_card", [optional(flag("reveal_bin")), optional(flag("reveal_last4"))]],
  ["alias_preserve_format", [optional(number("reveal_first_length")), optional(number("reveal_last_length"))]],
  ["alias_preserve_length", [optional(number("reveal_first_length")), optional(number("reveal_last_length"))]],
  ["card_bin", [optional(text("separator_char"))]],
  ["card_exp", [expiryFormat("date_expression")]],
  [
    "card_mask",
    [
      optional(flag("reveal_bin")),
      optional(flag("reveal_last4")),
      optional(character("mask_char")),
      optional(text("preserve_char")),
    ],
  ],
  ["hmac", [optional(algorithm("algorithm")), text("key")]],
  ["json", [path("json_path_expression")]],
  ["pad_left", [number("length"), character("pad_char")]],
  ["pad_right", [number("length"), character("pad_char")]],
  [
    "reveal",
    [
      optional(number("reveal_first")),
      optional(number("reveal_last")),
      optional(character("mask_char")),
      optional(text("preserve_chars")),
    ],
  ],
  ["reveal_last", [number("length"), optional(character("mask_char"))]],
]);

/** The filters of standard Liquid that require an argument. */
const STANDARD: ReadonlySet<string> = new Set(
  `append at_least at_most concat divided_by find find_index has map minus modulo plus prepend reject remove remove_first
  remove_last replace replace_first replace_last slice split times where`.split(/\s+/),
);

/**
 * Why a use of a filter fails for any data: a required argument is absent, or a literal is not of its form. Undefined
 * for all others.
 */
export function misuse(filter: string, args: readonly WrittenArgument[]): string | undefined {
  if (STANDARD.has(filter)) return args.length > 0 ? undefined : `${filter} needs an argument`;
  const named = new Map(args.map((argument) => [argument.name, argument]));
  const positional = args.filter(({ name }) => name === undefined);
  for (const [position, form] of (OURS.get(filter) ?? []).entries()) {
    const argument = named.get(form.name) ?? positional[position];
    if (!argument && !form.required) continue;
    // An absent argument fails as null does.
    const value = argument ? argument.value : null;
    const problem = value === undefined ? undefined : form.problem(value);
    if (problem !== undefined) return `${filter} ${problem}`;
  }
  return undefined;
}

function form(name: string, what: string, read: (value: Operand) => unknown): ArgumentForm {
  const problem = (value: Operand) => (read(value) === undefined ? `needs ${what} as ${name}` : undefined);
  return { name, required: true, problem };
}

function optional(required: ArgumentForm): ArgumentForm {
  return { ...required, required: false };
}

function number(name: string): ArgumentForm {
  return form(name, "a whole number", literalWholeNumber);
}

function character(name: string): ArgumentForm {
  return form(name, "one character", literalCharacter);
}

function text(name: string): ArgumentForm {
  return form(name, "a text", literalText);
}

function flag(name: string): ArgumentForm {
  return form(name, "true or false", literalFlag);
}

function algorithm(name: string): ArgumentForm {
  return form(name, "sha-1, sha-256 or sha-512", (value) => readHmacAlgorithm(literalText(value) ?? ""));
}

function expiryFormat(name: string): ArgumentForm {
  return textWith(name, (written) => (isExpiryFormat(written) ? undefined : `needs ${EXPIRY_FORMAT_NEEDED}`));
}

function path(name: string): ArgumentForm {
  return textWith(name, pathProblem);
}

function textWith(name: string, problemOf: (written: string) => string | undefined): ArgumentForm {
  const { problem } = text(name);
  return { name, required: true, problem: (value) => problem(value) ?? problemOf(literalText(value) ?? "") };
}
