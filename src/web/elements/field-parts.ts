import type { ElementOptions } from "../../../clients/elements/src/protocol.js";
import { digitsIn } from "./digits.js";
import type { ChangeSource, EntryOptions } from "./entry.js";
import type { EntryKind } from "./entry-kind.js";
import { cardNumberKind, expirationKind, verificationCodeKind } from "./entry-kinds.js";
import type { Texts } from "./locales.js";
import { NumberProgress } from "./number-progress.js";
import { Settling } from "./settling.js";
import { textKind } from "./text-form.js";

/** One input of a field: what it takes, and how far the person is with it. */
export interface PartPlan {
  readonly name: string;
  readonly kind: EntryKind;
  readonly settling: Settling;
  /** Of a card number: what the page may see of it. */
  readonly progress?: NumberProgress;
  changed(text: string, source: ChangeSource): void;
}

/**
 * @param lengths those of the card's verification code.
 * @param onSettled called when the person has finished the part of this name.
 */
export function fieldParts(
  type: string,
  options: ElementOptions,
  lengths: () => readonly number[],
  onSettled: (name: string) => void,
): readonly PartPlan[] {
  switch (type) {
    case "cardNumber":
      return [numberPart("value", onSettled)];
    case "cardExpirationDate":
      return [fixedPart("value", expirationKind)];
    case "cardVerificationCode":
      return [fixedPart("value", verificationCodeKind(lengths))];
    case "card":
      return [
        numberPart("number", onSettled),
        fixedPart("expiration", expirationKind),
        fixedPart("cvc", verificationCodeKind(lengths)),
      ];
    default:
      return [textPart("value", options, onSettled)];
  }
}

/** An entry that shows by itself whether it is complete. */
function fixedPart(name: string, kind: EntryKind): PartPlan {
  return { name, kind, settling: new Settling(() => {}), changed() {} };
}

function textPart(name: string, options: ElementOptions, onSettled: (name: string) => void): PartPlan {
  const settling = new Settling(() => onSettled(name));
  const kind = textKind(options, () => settling.isSettled);
  return { name, kind, settling, changed: (text) => settling.changed(text === "") };
}

function numberPart(name: string, onSettled: (name: string) => void): PartPlan {
  const settling = new Settling(() => onSettled(name));
  const progress = new NumberProgress(settling);
  return {
    name,
    kind: cardNumberKind(progress),
    settling,
    progress,
    changed: (text, source) => progress.changed(digitsIn(text), source !== "set"),
  };
}

const PART_TYPES = { number: "cardNumber", expiration: "cardExpirationDate", cvc: "cardVerificationCode" } as const;
const PART_CLASSES: Readonly<Record<string, string>> = {
  number: "is-number",
  expiration: "is-expiration",
  cvc: "is-code",
};

/** Password managers read the year's format from the second: its letters stay ASCII in every language. */
const USUAL_PLACEHOLDERS: Readonly<Record<string, string>> = {
  cardNumber: "1234 1234 1234 1234",
  cardExpirationDate: "MM / YY",
};

export function entryOptions(name: string, type: string, options: ElementOptions, texts: Texts): EntryOptions {
  const part = Object.entries(PART_TYPES).find(([known]) => known === name)?.[1];
  const own = Object.entries(texts.labels).find(([known]) => known === type)?.[1] ?? texts.labels.text;
  const kind = part ?? type;
  const usual = USUAL_PLACEHOLDERS[kind] ?? "";
  return {
    id: part === undefined ? "field" : `field-${name}`,
    label: part === undefined ? (options.label ?? own) : texts.labels[part],
    placeholder:
      (part === undefined ? options.placeholder : undefined) ?? (kind === "cardVerificationCode" ? "CVC" : usual),
    isRequired: options.required ?? true,
    isDisabled: options.disabled ?? false,
    isSecret: options.secret ?? false,
    showsError: options.showError ?? false,
    showsBrand: kind === "cardNumber" && (options.brandIcon ?? true),
    className: PART_CLASSES[name] ?? "",
  };
}
