import type { Budget } from "../budget.js";
import { selectOne } from "../json-path.js";
import { type Operand, operandToJson } from "../operand.js";
import { type FilterFamily, passingNull } from "./filter.js";

/** Native serialization writes about four characters in the time of one unit (measured). */
const CHARACTERS_PER_UNIT = 4;

export const jsonFilters: FilterFamily = {
  json(input, args, budget) {
    return selectOne(operandToJson(input), args.text(0, "json_path_expression"), budget);
  },

  ...passingNull({
    json_stringify(input, _, budget) {
      return stringify(input, budget);
    },

    stringify(input, _, budget) {
      return stringify(input, budget);
    },
  }),
};

/**
 * Compact JSON; a text stays unquoted. Paid afterwards, when the length is known: the default fingerprint must succeed
 * for data of any accepted size.
 */
export function stringify(input: Operand, budget: Budget): string {
  const value = operandToJson(input);
  if (typeof value === "string") return value;
  budget.spend(1);
  const text = JSON.stringify(value);
  budget.account(text.length / CHARACTERS_PER_UNIT);
  return text;
}
