import type { Expiration } from "./expiration.js";
import type { ErrorCode } from "./locales.js";

/** What a frame hands to the controller. Never leaves the vault's frames. */
export type EntryValue = string | Expiration;

export interface Reading {
  readonly value?: EntryValue;
  /** Why there is no value. Absent also while nothing is typed. */
  readonly problem?: ErrorCode;
  /** Nothing more can be typed, and it is correct: the focus may move on. */
  readonly isFull: boolean;
  readonly brand?: string | undefined;
  /** Lengths of the verification code that the card's brand has. */
  readonly codeLengths?: readonly number[];
  /** It may go on: a value is handed over, and an error shown, when the person has finished. */
  readonly isOpen?: boolean;
  /** Correct as it is, if the person types no more. Only the person sees this: it depends on digits that no page may know. */
  readonly looksComplete?: boolean;
}

/** How an input formats, and what it makes of a text. */
export interface EntryKind {
  readonly name: string;
  readonly autocomplete: string;
  readonly inputMode: "numeric" | "text";
  /** Digits run from left to right in every language. */
  readonly isDigits: boolean;
  /** Characters that the caret counts; the others come and go with the format. */
  readonly significant: RegExp;
  format(text: string): string;
  read(text: string): Reading;
}
