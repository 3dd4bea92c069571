import { isJsonObject, type Json } from "../../base/json.js";
import { binLength } from "../bin-length.js";
import { type Operand, operandText } from "../operand.js";
import { unevaluable } from "../rejection.js";
import { type FilterFamily, passingNull } from "./filter.js";

/** Filters for cards only. `card_mask` and `alias_card` are with the other masks and aliases. */
export const cardFilters: FilterFamily = {
  ...passingNull({
    card_bin(input, args) {
      const digits = operandText(input, "card_bin").replaceAll(args.text(0, "separator_char", "") || "\0", "");
      return digits.slice(0, binLength(digits.length));
    },
  }),

  card_exp(input, args) {
    const format = args.text(0, "date_expression");
    if (!isExpiryFormat(format)) throw unevaluable(`card_exp needs ${EXPIRY_FORMAT_NEEDED}`);
    return input === null ? undefined : formatExpiry(input, format);
  },
};

/** The documented formats and their like: MM, YY and YYYY in any order, with or without a separator. */
const EXPIRY_FORMAT = /^(?:MM|YYYY|YY|[-/_. ]){1,9}$/;

export const EXPIRY_FORMAT_NEEDED = "a date_expression such as MM/YY or YYYY-MM";

export function isExpiryFormat(text: string): boolean {
  return EXPIRY_FORMAT.test(text);
}

/** Undefined if the card lacks a part of the format. */
function formatExpiry(card: Operand, format: string): string | undefined {
  if (card instanceof Uint8Array || !isJsonObject(card)) throw unevaluable("card_exp needs card data");
  const month = numberText(card.expiration_month);
  const year = numberText(card.expiration_year);
  if ((format.includes("M") && month === null) || (format.includes("Y") && year === null)) return undefined;
  return format
    .replaceAll("YYYY", year ?? "")
    .replaceAll("YY", (year ?? "").slice(-2))
    .replaceAll("MM", (month ?? "").padStart(2, "0"));
}

function numberText(value: Json | undefined): string | null {
  return typeof value === "number" || typeof value === "string" ? String(value) : null;
}
