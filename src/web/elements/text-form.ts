import { problemOfForm, type TextForm } from "../../../clients/elements/src/text-form.js";
import { passesLuhn } from "../../base/luhn.js";
import { digitsIn, passesAba } from "./digits.js";
import type { EntryKind } from "./entry-kind.js";
import { applyMask, fillsMask } from "./text-mask.js";

/** The longest text of a field without a mask. */
const MAX_CHARACTERS = 4_000;
/** A bank account number has 3 to 17 digits. */
const ACCOUNT_DIGITS = [3, 17] as const;

const EMPTY = { isFull: false };
/** Nothing fits a form that cannot be. */
const UNUSABLE: EntryKind = {
  name: "secure-text",
  autocomplete: "off",
  inputMode: "text",
  isDigits: false,
  significant: /./su,
  format: (text) => text.slice(0, MAX_CHARACTERS),
  read: (text) => (text === "" ? EMPTY : { isFull: false, problem: "unsupported" }),
};

/**
 * What a text field takes. Fixed when the field is made: a page that could change it while a person types would learn
 * more with each change. For the same reason a check digit is judged at one length only.
 * @param isSettled whether the person has finished. A text without a fixed length may go on until then.
 */
export function textKind(form: TextForm, isSettled: () => boolean): EntryKind {
  const { mask, check } = form;
  // What the form should refuse must not pass.
  if (problemOfForm(form) !== undefined) return UNUSABLE;
  if (check === "account") return accountKind(isSettled);
  if (check !== undefined || mask !== undefined) return maskedKind(mask ?? "", check);
  return {
    name: "secure-text",
    autocomplete: "off",
    inputMode: "text",
    isDigits: false,
    significant: /./su,
    format: (text) => text.slice(0, MAX_CHARACTERS),
    read: (text) => (text.trim() === "" ? EMPTY : { isFull: false, value: text, isOpen: !isSettled() }),
  };
}

function maskedKind(given: string, check: TextForm["check"]): EntryKind {
  const mask = check === "aba" ? "#########" : given;
  const isDigits = !/[A*]/.test(mask);
  const passes = (text: string) =>
    (check !== "luhn" || passesLuhn(digitsIn(text))) && (check !== "aba" || passesAba(text));
  return {
    name: "secure-text",
    autocomplete: "off",
    inputMode: isDigits ? "numeric" : "text",
    isDigits,
    significant: /[0-9]|\p{L}/u,
    format: (text) => applyMask(mask, text),
    read(text) {
      if (text.trim() === "") return EMPTY;
      if (!fillsMask(mask, text)) return { isFull: false, problem: "incomplete" };
      return passes(text) ? { isFull: true, value: text } : { isFull: false, problem: "invalid" };
    },
  };
}

function accountKind(isSettled: () => boolean): EntryKind {
  const [fewest, most] = ACCOUNT_DIGITS;
  return {
    name: "secure-text",
    autocomplete: "off",
    inputMode: "numeric",
    isDigits: true,
    significant: /[0-9]/,
    format: (text) => digitsIn(text).slice(0, most),
    read(text) {
      if (text === "") return EMPTY;
      if (text.length < fewest) return { isFull: false, problem: "incomplete" };
      return { isFull: false, value: text, isOpen: !isSettled() };
    },
  };
}
