import type { Budget } from "../budget.js";
import { type Operand, operandText } from "../operand.js";
import type { FilterArguments } from "./arguments.js";
import { type FilterFamily, passingNull } from "./filter.js";

/** Filters that lengthen a text to a number of characters; they never shorten it. */
export const paddingFilters: FilterFamily = passingNull({
  pad_left(input, args, budget) {
    return paddingFor(input, args, budget, "pad_left") + operandText(input, "pad_left");
  },

  pad_right(input, args, budget) {
    return operandText(input, "pad_right") + paddingFor(input, args, budget, "pad_right");
  },
});

function paddingFor(input: Operand, args: FilterArguments, budget: Budget, filter: string): string {
  const missing = args.wholeNumber(0, "length") - [...operandText(input, filter)].length;
  const padding = args.character(1, "pad_char");
  if (missing <= 0) return "";
  budget.spend(missing);
  return padding.repeat(missing);
}
