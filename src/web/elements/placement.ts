import type { TextForm } from "../../../clients/elements/src/text-form.js";

export interface PlacedField {
  readonly type: string;
  readonly form: TextForm;
}

/** A place of a request body: in the data of a token, or that of a value that becomes a token by itself. */
export interface DataPlace {
  readonly tokenType: string;
  /** The names from the data to the place, with dots between them; empty for the data itself. */
  readonly path: string;
  /** The part of an expiration date. */
  readonly part: string | undefined;
}

type Rule = (field: PlacedField, part: string | undefined) => boolean;

const number: Rule = ({ type }) => type === "cardNumber";
const date =
  (wanted: "month" | "year"): Rule =>
  ({ type }, part) =>
    type === "cardExpirationDate" && part === wanted;
const routing: Rule = ({ type, form }) => type === "text" && form.check === "aba";
const account: Rule = ({ type, form }) => type === "text" && form.check === "account";
/** Nine digits, with single hyphens between them. */
const nineDigits: Rule = ({ type, form }) => type === "text" && /^#(?:-?#){8}$/.test(form.mask ?? "");

/**
 * What fits a place of the types that check their data. Every value that a field gives must be valid there: an error of
 * the vault would otherwise tell the page something about it.
 */
const RULES: ReadonlyMap<string, Rule> = new Map([
  ["card:", ({ type }) => type === "card"],
  ["card:number", number],
  ["card:expiration_month", date("month")],
  ["card:expiration_year", date("year")],
  // The only place from which the vault removes a verification code after a time.
  ["card:cvc", ({ type }) => type === "cardVerificationCode"],
  ["card_number:", number],
  ["bank:routing_number", routing],
  ["bank:account_number", account],
  ["us_bank_routing_number:", routing],
  ["us_bank_account_number:", account],
  ["social_security_number:", nineDigits],
  ["employer_id_number:", nineDigits],
]);

export function fits(field: PlacedField, { tokenType, path, part }: DataPlace): boolean {
  if (tokenType !== "token") return RULES.get(`${tokenType}:${path}`)?.(field, part) ?? false;
  if (field.type === "cardExpirationDate") return part === "month" || part === "year";
  return field.type === "cardNumber" || field.type === "text";
}
