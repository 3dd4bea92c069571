import type { Budget } from "../budget.js";
import type { Operand } from "../operand.js";
import type { DrawBelow } from "../random.js";
import type { FilterArguments } from "./arguments.js";

/**
 * One of our filters: pure except for random aliases. It throws a rejection that names the filter and never the input.
 * The caller pays for work proportional to input and arguments; a filter pays only for more. Undefined means not found:
 * the next filter gets null, and an expression that must find something fails.
 */
export type Filter = (input: Operand, args: FilterArguments, budget: Budget, draw: DrawBelow) => Operand | undefined;

export type FilterFamily = Readonly<Record<string, Filter>>;

/** Wraps filters to return null for null: a missing value stays missing. */
export function passingNull(family: FilterFamily): FilterFamily {
  return Object.fromEntries(
    Object.entries(family).map(([name, apply]): [string, Filter] => [
      name,
      (input, args, budget, draw) => (input === null ? null : apply(input, args, budget, draw)),
    ]),
  );
}
