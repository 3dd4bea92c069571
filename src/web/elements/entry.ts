import { createBrandMark } from "./brand-mark.js";
import type { EntryKind, Reading } from "./entry-kind.js";
import { type ErrorCode, errorText, type Texts } from "./locales.js";

export interface Entry {
  readonly input: HTMLInputElement;
  readonly label: HTMLLabelElement;
  /** Holds label, input and error. */
  readonly box: HTMLElement;
  reading(): Reading;
  /** The error as shown, if any. */
  shownError(): ErrorCode | undefined;
  /** Shows the error of an entry that a person left or sent. */
  showError(isSubmitted: boolean): void;
  setText(text: string): void;
  /** Formats again, and drops an error that no longer holds. For a rule of the entry that has changed. */
  refresh(): void;
  /** Drops an error that no longer holds, because the person has finished. */
  recheck(): void;
  /** For a card number. */
  showBrand(isShown: boolean): void;
}

/** How an entry changed: typed or pasted, changed otherwise by a person or a browser, or by a call. */
export type ChangeSource = "typed" | "edited" | "set";

export interface EntryHooks {
  /** Before the entry is read. */
  onText(text: string, source: ChangeSource): void;
  onChange(source: ChangeSource): void;
}

export interface EntryOptions {
  readonly id: string;
  readonly label: string;
  readonly placeholder: string;
  readonly isRequired: boolean;
  readonly isDisabled: boolean;
  readonly isSecret: boolean;
  readonly showsError: boolean;
  readonly showsBrand: boolean;
  readonly className: string;
}

export function createEntry(kind: EntryKind, options: EntryOptions, texts: Texts, hooks: EntryHooks): Entry {
  const input = createInput(kind, options);
  const error = createError(options);
  const label = createLabel(options);
  input.setAttribute("aria-describedby", error.id);
  const brandMark = createBrandMark();
  const box = document.createElement("div");
  box.className = `entry ${options.className}`;
  box.append(label, input, ...(kind.autocomplete === "cc-number" ? [brandMark.svg] : []), error);
  const showBrand = (isShown: boolean) => box.classList.toggle("has-brand", isShown);
  showBrand(options.showsBrand);
  let shown: ErrorCode | undefined;
  const show = (code: ErrorCode | undefined) => {
    shown = code;
    error.textContent = code ? errorText(texts, kind.name, code) : "";
    if (code) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    const { problem, value, brand, looksComplete = false } = kind.read(input.value);
    brandMark.show(brand);
    input.classList.toggle("is-invalid", code !== undefined);
    input.classList.toggle("is-complete", value !== undefined || looksComplete);
    input.classList.toggle("is-empty", value === undefined && problem === undefined);
  };
  const recheck = () => {
    // A shown error goes as soon as the entry is right, or may be, and a new one waits until the person leaves.
    const { problem, isOpen } = kind.read(input.value);
    show(shown !== undefined && !isOpen ? problem : undefined);
  };
  const changed = (source: ChangeSource) => {
    hooks.onText(input.value, source);
    recheck();
    hooks.onChange(source);
  };
  keepFormatted(input, kind, changed);
  show(undefined);
  return {
    input,
    label,
    box,
    reading: () => kind.read(input.value),
    shownError: () => shown,
    showError(isSubmitted) {
      const { problem, value } = kind.read(input.value);
      const isMissing = isSubmitted && options.isRequired && value === undefined;
      show(problem ?? (isMissing ? "required" : undefined));
    },
    setText(text) {
      input.value = kind.format(text);
      changed("set");
    },
    refresh() {
      input.value = kind.format(input.value);
      changed("set");
    },
    recheck,
    showBrand,
  };
}

function createError({ id, showsError }: EntryOptions): HTMLParagraphElement {
  const error = document.createElement("p");
  error.id = `${id}-error`;
  error.className = showsError ? "error" : "error is-quiet";
  return error;
}

function createLabel({ id, label: text }: EntryOptions): HTMLLabelElement {
  const label = document.createElement("label");
  label.htmlFor = id;
  label.textContent = text;
  return label;
}

function createInput(kind: EntryKind, options: EntryOptions): HTMLInputElement {
  const input = document.createElement("input");
  input.id = options.id;
  input.name = kind.name;
  input.type = options.isSecret ? "password" : "text";
  input.inputMode = kind.inputMode;
  input.setAttribute("autocomplete", kind.autocomplete);
  Object.assign(input, { spellcheck: false, placeholder: options.placeholder, disabled: options.isDisabled });
  input.setAttribute("autocapitalize", "off");
  input.setAttribute("autocorrect", "off");
  input.required = options.isRequired;
  input.setAttribute("aria-required", String(options.isRequired));
  input.classList.toggle("is-digits", kind.isDigits);
  return input;
}

/** Formats while a person types. The caret stays behind the character that it was behind. */
function keepFormatted(input: HTMLInputElement, kind: EntryKind, changed: (source: ChangeSource) => void): void {
  input.addEventListener("beforeinput", (event) => insertFormatted(input, kind, event));
  input.addEventListener("beforeinput", (event) => {
    const { selectionStart: start, selectionEnd: end } = input;
    if (event.inputType !== "deleteContentBackward" || start === null || start !== end) return;
    // Backspace behind a gap deletes the character before the gap.
    let at = start;
    while (at > 0 && !kind.significant.test(input.value.charAt(at - 1))) at -= 1;
    if (at !== start) input.setSelectionRange(at, at);
  });
  const format = (event: Event) => {
    if (event instanceof InputEvent && event.isComposing) return;
    const text = kind.format(input.value);
    if (text !== input.value) {
      const isAtEnd = input.selectionStart === input.value.length;
      const before = countIn(asTyped(input.value.slice(0, input.selectionStart ?? 0)), kind.significant);
      input.value = text;
      const caret = isAtEnd ? text.length : positionAfter(text, before, kind.significant);
      if (document.activeElement === input) input.setSelectionRange(caret, caret);
    }
    changed(event instanceof InputEvent && event.inputType.startsWith("insert") ? "typed" : "edited");
  };
  input.addEventListener("input", format);
  input.addEventListener("compositionend", format);
}

/**
 * Inserts what is typed together with the gaps beside it, as one edit of the browser: setting the value would break undo.
 * An edit that changes other parts of the text too is left to the formatting afterwards.
 */
function insertFormatted(input: HTMLInputElement, kind: EntryKind, event: InputEvent): void {
  const { value, selectionStart: start, selectionEnd: end } = input;
  const { data } = event;
  if (event.inputType !== "insertText" || event.isComposing || data === null || start === null || end === null) return;
  const [before, after] = [value.slice(0, start), value.slice(end)];
  const text = kind.format(before + data + after);
  const piece = text.slice(start, text.length - after.length);
  if (piece === data || before + piece + after !== text) return;
  // Fires this event again, with a text that needs nothing.
  if (document.execCommand("insertText", false, piece)) event.preventDefault();
}

/** Digits of other scripts count as the ASCII digits that replace them. */
function asTyped(text: string): string {
  return text.replace(/\p{Nd}/gu, "0");
}

function countIn(text: string, significant: RegExp): number {
  return [...text].filter((character) => significant.test(character)).length;
}

/** The position behind the `count`-th significant character. */
function positionAfter(text: string, count: number, significant: RegExp): number {
  let left = count;
  let at = 0;
  while (left > 0 && at < text.length) {
    if (significant.test(text.charAt(at))) left -= 1;
    at += 1;
  }
  return at;
}
