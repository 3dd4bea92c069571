import type { Budget } from "../budget.js";
import type { Operand } from "../operand.js";
import type { FilterArguments } from "./arguments.js";

/**
 * A filter of ours: pure but for random aliases. It throws a rejection that names the filter and never the input. Work
 * in proportion to the input and the arguments is paid by the caller; a filter pays only for what goes beyond that.
 * Undefined means that what it looks for is not there. The next filter gets null, and an expression that must find
 * something fails.
 */
export type Filter = (input: Operand, args: FilterArguments, budget: Budget) => Operand | undefined;

/** Filters by the name they have in expressions. */
export type FilterFamily = Readonly<Record<string, Filter>>;

/** Filters for which null stays null: a missing value is missing after them too. */
export function passingNull(family: FilterFamily): FilterFamily {
  return Object.fromEntries(
    Object.entries(family).map(([name, apply]): [string, Filter] => [
      name,
      (input, args, budget) => (input === null ? null : apply(input, args, budget)),
    ]),
  );
}
