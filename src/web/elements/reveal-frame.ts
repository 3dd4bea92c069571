import type { FieldEvent, InitMessage } from "../../../clients/elements/src/protocol.js";
import { copyText } from "./copy-text.js";
import { label, labelledButton } from "./labelled-button.js";
import { fieldLabel, TEXTS } from "./locales.js";

/** Seconds for which a value is shown. */
const SHOWN_FOR = 30;
const SHOWN_FOR_AT_MOST = 300;

export interface RevealFrame {
  show(): Promise<void>;
  hide(): void;
}

/** Shows a value on request, hides it after a time, and copies it without the page. */
export function createRevealFrame(
  { locale, options }: InitMessage,
  read: () => Promise<string>,
  send: (event: FieldEvent) => void,
): RevealFrame {
  const texts = TEXTS[locale];
  const output = document.createElement("output");
  const name = options.label ?? fieldLabel(texts, "reveal");
  output.setAttribute("aria-label", name);
  const toggle = labelledButton(texts.show, name);
  const copy = labelledButton(texts.copy, name);
  const box = document.createElement("div");
  box.className = "reveal";
  box.append(output, toggle, copy);
  document.body.replaceChildren(box);
  let value: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hide = () => {
    clearTimeout(timer);
    const wasShown = value !== undefined;
    value = undefined;
    output.textContent = "••••";
    label(toggle, texts.show, name);
    copy.disabled = true;
    if (wasShown) send({ type: "hidden" });
  };
  const show = async () => {
    toggle.disabled = true;
    try {
      value = await read();
      output.textContent = value;
      label(toggle, texts.hide, name);
      copy.disabled = false;
      const seconds = Math.min(Math.max(options.hideAfter ?? SHOWN_FOR, 1), SHOWN_FOR_AT_MOST);
      clearTimeout(timer);
      timer = setTimeout(hide, seconds * 1_000);
      send({ type: "revealed" });
    } catch (error) {
      output.textContent = texts.failed;
      const code = error instanceof Error ? error.name : "failed";
      send({ type: "failed", error: { code, message: error instanceof Error ? error.message : texts.failed } });
    } finally {
      toggle.disabled = false;
    }
  };
  toggle.addEventListener("click", () => (value === undefined ? show() : hide()));
  copy.addEventListener("click", async () => {
    if (value === undefined) return;
    await copyText(value);
    label(copy, texts.copied, name);
    send({ type: "copied" });
  });
  hide();
  return { show, hide };
}
