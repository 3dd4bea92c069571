import type { ElementOptions, FieldEvent, InitMessage } from "../../../clients/elements/src/protocol.js";
import { applyAppearance } from "./appearance.js";
import { createEntry, type Entry, type EntryOptions } from "./entry.js";
import type { EntryValue } from "./entry-kind.js";
import { entryOptions, fieldParts } from "./field-parts.js";
import { type Part, reporter } from "./field-state.js";
import { createHiddenInputs, type FilledType } from "./hidden-inputs.js";
import { TEXTS } from "./locales.js";
import { applyStyle } from "./styles.js";

export interface FieldFrame {
  /**
   * The values by the names that a card has in the API; for other fields the only value under `value`. Shows what is
   * missing, as after a submit. Waits while the person may still go on.
   */
  values(): Promise<Readonly<Record<string, EntryValue>> | undefined>;
  focus(): void;
  blur(): void;
  clear(): void;
  /** Takes what a browser filled in elsewhere. What a person has typed stays. */
  fill(text: string): void;
  /** The person clicked into another field. */
  settle(): void;
  update(options: ElementOptions): void;
  setCodeLengths(lengths: readonly number[]): void;
}

export interface FieldHooks {
  send(event: FieldEvent): void;
  /** The card's brand has another code. */
  onCodeLengths(lengths: readonly number[]): void;
  /** A person has completed the frame. */
  onFull(): void;
  /** A person clicks here. */
  onUsed(): void;
  /** A browser has filled in another field's part of a card. */
  onFilled(type: FilledType, text: string): void;
}

export function createFieldFrame(type: string, init: InitMessage, hooks: FieldHooks): FieldFrame {
  const texts = TEXTS[init.locale];
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [sheet];
  const lengths: { current: readonly number[] } = { current: [3, 4] };
  let options = init.options;
  const warn = (message: string) => hooks.send({ type: "warning", message });
  const dress = () => {
    applyAppearance(options.appearance, warn);
    applyStyle(sheet, options.style, warn);
  };
  const parts: Part[] = [];
  const report = reporter(parts, texts, hooks.send);
  const onChange = (part: Part, isTyped: boolean) => {
    const { codeLengths, isFull } = part.entry.reading();
    if (codeLengths && codeLengths.join() !== lengths.current.join()) frame.setCodeLengths(codeLengths);
    showEnds(part);
    report();
    if (!isFull || !isTyped) return;
    const next = parts[parts.indexOf(part) + 1];
    if (next) next.entry.input.focus();
    else hooks.onFull();
  };
  const onSettled = (name: string) => {
    const part = parts.find((candidate) => candidate.name === name);
    if (!part) return;
    part.entry.recheck();
    leave(part, report);
  };
  for (const plan of fieldParts(type, options, () => lengths.current, onSettled)) {
    const entry = createEntry(plan.kind, entryOptions(plan.name, type, options, texts), texts, {
      onText: plan.changed,
      onChange: (source) => onChange(part, source === "typed"),
    });
    const part: Part = { ...plan, entry };
    parts.push(part);
  }
  const frame: FieldFrame = {
    ...commandsOf(parts, report),
    update(next) {
      options = { ...options, ...next };
      for (const { entry, name } of parts) relabel(entry, entryOptions(name, type, options, texts));
      dress();
    },
    setCodeLengths(given) {
      lengths.current = given;
      hooks.onCodeLengths(given);
      for (const { name, entry } of parts) if (name === "cvc") entry.refresh();
      report();
    },
  };
  dress();
  const hidden = type === "cardNumber" ? createHiddenInputs(hooks.onFilled) : [];
  document.body.replaceChildren(formOf(parts, hidden));
  for (const part of parts) listen(part, parts, hooks, report);
  return frame;
}

type Commands = Omit<FieldFrame, "update" | "setCodeLengths">;

function commandsOf(parts: readonly Part[], report: () => void): Commands {
  return {
    async values() {
      await Promise.all(parts.map(({ entry, settling }) => (entry.reading().isOpen ? settling.wait() : undefined)));
      for (const { entry } of parts) entry.showError(true);
      report();
      const read = parts.map((part) => [part.name, givenBy(part)] as const);
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
    settle() {
      for (const { settling } of parts) settling.ended();
    },
  };
}

function givenBy({ entry, progress }: Part): EntryValue | undefined {
  const { value, isOpen } = entry.reading();
  if (isOpen) return undefined;
  progress?.given();
  return value;
}

/** The page sees the ends of a number while the person is elsewhere. */
function showEnds({ progress, settling }: Part): void {
  if (!settling.isFocused) progress?.show();
}

/** An entry that the person has left: its error appears, unless it may still go on. */
function leave(part: Part, report: () => void): void {
  if (!part.settling.isFocused && !part.entry.reading().isOpen) {
    part.entry.showError(false);
    showEnds(part);
  }
  report();
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

function relabel(entry: Entry, { label, placeholder, isDisabled, showsBrand }: EntryOptions): void {
  entry.showBrand(showsBrand);
  Object.assign(entry.input, { placeholder, disabled: isDisabled });
  entry.label.textContent = label;
}

/** Puts the inputs into a form, which browsers and password managers fill as one. */
function formOf(parts: readonly Part[], hidden: readonly HTMLInputElement[]): HTMLFormElement {
  const form = document.createElement("form");
  form.noValidate = true;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.append(...parts.map(({ entry }) => entry.box), ...hidden);
  return form;
}

function listen(part: Part, parts: readonly Part[], hooks: FieldHooks, report: () => void): void {
  const { input } = part.entry;
  input.addEventListener("focus", () => {
    part.settling.focused();
    hooks.send({ type: "focus" });
  });
  input.addEventListener("blur", () => {
    part.settling.left();
    leave(part, report);
    hooks.send({ type: "blur" });
  });
  input.addEventListener("keydown", ({ key }) => {
    // The person is done here. No page can press keys in a frame of another origin.
    if (key === "Enter" || key === "Tab") part.settling.ended();
    if (key === "Enter") hooks.send({ type: "submit" });
    if (key === "Escape") hooks.send({ type: "escape" });
  });
  const endOthers = () => {
    for (const other of parts) if (other !== part) other.settling.ended();
  };
  // The page can focus another frame between two keys of a number, which then gets the next key. It cannot click there.
  input.addEventListener("beforeinput", endOthers);
  input.addEventListener("pointerdown", () => {
    endOthers();
    hooks.onUsed();
  });
}
