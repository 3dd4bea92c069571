import { operandText } from "../operand.js";
import { unevaluable } from "../rejection.js";
import { type FilterFamily, passingNull } from "./filter.js";

/** Number of digits that every double keeps (IEEE 754 binary64). */
const FAITHFUL_DIGITS = 15;
const DECIMAL = /^[+-]?(\d+)(?:\.(\d+))?(?:[eE][+-]?\d{1,3})?$/;

export const castingFilters: FilterFamily = passingNull({
  to_boolean(input) {
    if (typeof input === "boolean") return input;
    const text = operandText(input, "to_boolean").trim().toLowerCase();
    if (text === "true" || text === "1") return true;
    if (text === "false" || text === "0") return false;
    throw unevaluable("to_boolean needs true or false");
  },

  to_number(input) {
    if (typeof input === "number") return input;
    if (typeof input !== "string") throw unevaluable("to_number needs a number");
    return parseFaithfully(input.trim());
  },

  to_string(input) {
    return operandText(input, "to_string");
  },
});

/** Rejects a number whose digits a double would change: a card number of 19 digits must not become another one. */
function parseFaithfully(text: string): number {
  const [, whole, fraction = ""] = DECIMAL.exec(text) ?? [];
  const number = Number(text);
  if (whole === undefined || !Number.isFinite(number)) throw unevaluable("to_number needs a number");
  const significant = `${whole}${fraction}`.replace(/^0+/, "").length;
  if (significant > FAITHFUL_DIGITS && !(fraction === "" && Number.isSafeInteger(number))) {
    throw unevaluable("to_number needs a number of at most 15 digits");
  }
  return number;
}
