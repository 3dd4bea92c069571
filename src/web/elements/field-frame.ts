import type { ElementOptions, FieldEvent, FieldState, InitMessage } from "../../../clients/elements/src/protocol.js";
import { createEntry, type Entry, type EntryOptions } from "./entry.js";
import {
  cardNumberKind,
  type EntryKind,
  type EntryValue,
  expirationKind,
  textKind,
  verificationCodeKind,
} from "./entry-kinds.js";
import { createHiddenInputs, type FilledType } from "./hidden-inputs.js";
import { TEXTS, type Texts } from "./locales.js";
import { applyStyle } from "./styles.js";

/** The longest regular expression of a page. A slow one delays only its own frame. */
const MAX_PATTERN_LENGTH = 500;

/** The inputs of a frame, and what becomes of them. */
export interface FieldFrame {
  /** The values by the names that a card has in the API; for other fields the only value under `value`. */
  values(): Readonly<Record<string, EntryValue>> | undefined;
  focus(): void;
  blur(): void;
  clear(): void;
  /** Takes what a browser filled in elsewhere. What a person has typed stays. */
  fill(text: string): void;
  /** Shows what is wrong, as after a submit. */
  showErrors(): void;
  update(options: ElementOptions): void;
  setCodeLengths(lengths: readonly number[]): void;
}

export interface FieldHooks {
  send(event: FieldEvent): void;
  /** The card's brand has another code. */
  onCodeLengths(lengths: readonly number[]): void;
  /** A person has completed the frame. */
  onFull(): void;
  /** A browser has filled in another field's part of a card. */
  onFilled(type: FilledType, text: string): void;
}

interface Part {
  readonly name: string;
  readonly entry: Entry;
}

export function createFieldFrame(type: string, init: InitMessage, hooks: FieldHooks): FieldFrame {
  const texts = TEXTS[init.locale];
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [sheet];
  let lengths: readonly number[] = [3, 4];
  let options = init.options;
  const parts: Part[] = [];
  const report = reporter(parts, texts, hooks);
  const changed = (index: number, isTyped: boolean) => {
    const { codeLengths, isFull } = parts[index]?.entry.reading() ?? { isFull: false };
    if (codeLengths && codeLengths.join() !== lengths.join()) frame.setCodeLengths(codeLengths);
    report();
    if (!isFull || !isTyped) return;
    const next = parts[index + 1];
    if (next) next.entry.input.focus();
    else hooks.onFull();
  };
  const kinds = kindsOf(type, options, () => lengths);
  for (const [index, [name, kind]] of kinds.entries()) {
    const entry = createEntry(kind, entryOptions(name, type, options, texts), texts, (isTyped) =>
      changed(index, isTyped),
    );
    parts.push({ name, entry });
  }
  const frame: FieldFrame = {
    values() {
      const read = parts.map(({ name, entry }) => [name, entry.reading().value] as const);
      const found = read.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
      return found.length === parts.length ? Object.fromEntries(found) : undefined;
    },
    focus: () => parts[0] && keepFocus(parts[0].entry.input),
    blur: () => document.activeElement instanceof HTMLElement && document.activeElement.blur(),
    clear() {
      for (const { entry } of parts) entry.setText("");
    },
    fill(text) {
      const [only] = parts;
      if (only?.entry.input.value === "") only.entry.setText(text);
    },
    showErrors() {
      for (const { entry } of parts) entry.showError(true);
      report();
    },
    update(next) {
      options = { ...options, ...next };
      for (const { entry, name } of parts) relabel(entry, entryOptions(name, type, options, texts));
      applyStyle(sheet, options.style, warn);
    },
    setCodeLengths(given) {
      lengths = given;
      hooks.onCodeLengths(given);
      for (const { name, entry } of parts) if (name === "cvc") entry.refresh();
      report();
    },
  };
  const warn = (message: string) => hooks.send({ type: "warning", message });
  applyStyle(sheet, options.style, warn);
  attach(parts, hooks, report, type === "cardNumber" ? createHiddenInputs(hooks.onFilled) : []);
  return frame;
}

/**
 * Focuses an input, again if the browser takes the focus away at once: the page also focuses the frame itself, which in
 * Chromium may arrive after its message and then leaves the focus with the document.
 */
function keepFocus(input: HTMLInputElement): void {
  input.focus();
  const restore = () => {
    if (document.activeElement === document.body) input.focus();
  };
  // A person who tabs into the frame has an input focused by then.
  addEventListener("focus", () => setTimeout(restore), { once: true });
}

/** Tells the page about a change of what it may know, and about nothing else: keys have times. */
function reporter(parts: readonly Part[], texts: Texts, { send }: FieldHooks): () => void {
  let sent = "";
  return () => {
    const state = stateOf(parts, texts);
    const text = JSON.stringify(state);
    if (text === sent) return;
    sent = text;
    send({ type: "change", state });
  };
}

function relabel(entry: Entry, { label, placeholder, isDisabled }: EntryOptions): void {
  Object.assign(entry.input, { placeholder, disabled: isDisabled });
  entry.label.textContent = label;
}

/** Puts the inputs into a form, which browsers and password managers fill as one. */
function attach(
  parts: readonly Part[],
  hooks: FieldHooks,
  report: () => void,
  hidden: readonly HTMLInputElement[],
): void {
  const form = document.createElement("form");
  form.noValidate = true;
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const { entry } of parts) {
    const { input } = entry;
    input.addEventListener("focus", () => hooks.send({ type: "focus" }));
    input.addEventListener("blur", () => {
      entry.showError(false);
      report();
      hooks.send({ type: "blur" });
    });
    input.addEventListener("keydown", ({ key }) => {
      if (key === "Enter") hooks.send({ type: "submit" });
      if (key === "Escape") hooks.send({ type: "escape" });
    });
    form.append(entry.box);
  }
  form.append(...hidden);
  document.body.replaceChildren(form);
}

function kindsOf(
  type: string,
  options: ElementOptions,
  lengths: () => readonly number[],
): readonly (readonly [name: string, kind: EntryKind])[] {
  switch (type) {
    case "cardNumber":
      return [["value", cardNumberKind]];
    case "cardExpirationDate":
      return [["value", expirationKind]];
    case "cardVerificationCode":
      return [["value", verificationCodeKind(lengths)]];
    case "card":
      return [
        ["number", cardNumberKind],
        ["expiration", expirationKind],
        ["cvc", verificationCodeKind(lengths)],
      ];
    default: {
      const { mask, pattern, check } = options;
      return [["value", textKind({ mask, check, pattern: patternOf(pattern) })]];
    }
  }
}

/** A pattern that cannot be read matches nothing: what it should refuse must not pass. */
function patternOf(pattern: string | undefined): RegExp | undefined {
  if (pattern === undefined) return undefined;
  try {
    return new RegExp(pattern.length > MAX_PATTERN_LENGTH ? "(?!)" : `^(?:${pattern})$`, "u");
  } catch {
    return /(?!)/;
  }
}

const PART_TYPES = { number: "cardNumber", expiration: "cardExpirationDate", cvc: "cardVerificationCode" } as const;
const PART_CLASSES: Readonly<Record<string, string>> = {
  number: "is-number",
  expiration: "is-expiration",
  cvc: "is-code",
};

function entryOptions(name: string, type: string, options: ElementOptions, texts: Texts): EntryOptions {
  const part = Object.entries(PART_TYPES).find(([known]) => known === name)?.[1];
  const own = Object.entries(texts.labels).find(([known]) => known === type)?.[1] ?? texts.labels.text;
  const kind = part ?? type;
  const usual =
    kind === "cardExpirationDate" ? texts.expirationPlaceholder : kind === "cardNumber" ? "1234 1234 1234 1234" : "";
  return {
    id: part === undefined ? "field" : `field-${name}`,
    label: part === undefined ? (options.label ?? own) : texts.labels[part],
    placeholder:
      (part === undefined ? options.placeholder : undefined) ?? (kind === "cardVerificationCode" ? "CVC" : usual),
    isRequired: options.required ?? true,
    isDisabled: options.disabled ?? false,
    isSecret: options.secret ?? false,
    showsError: options.showError ?? false,
    className: PART_CLASSES[name] ?? "",
  };
}

function stateOf(parts: readonly Part[], texts: Texts): FieldState {
  const readings = parts.map(({ entry }) => entry.reading());
  const number = readings.find(({ codeLengths }) => codeLengths !== undefined);
  const error = parts.map(({ entry }) => entry.shownError()).find((code) => code !== undefined);
  return {
    complete: readings.every(({ value }) => value !== undefined),
    empty: readings.every(({ value, problem }) => value === undefined && problem === undefined),
    valid: error === undefined && readings.every(({ problem }) => problem === undefined || problem === "incomplete"),
    ...(number?.brand === undefined ? {} : { brand: number.brand }),
    ...(number?.bin === undefined ? {} : { bin: number.bin }),
    ...(number?.last4 === undefined ? {} : { last4: number.last4 }),
    ...(error === undefined ? {} : { error: { code: error, message: texts.errors[error] } }),
  };
}
