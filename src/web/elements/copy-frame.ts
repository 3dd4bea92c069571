import type { FieldEvent, InitMessage } from "../../../clients/elements/src/protocol.js";
import { copyText } from "./copy-text.js";
import { label, labelledButton } from "./labelled-button.js";
import { fieldLabel, TEXTS } from "./locales.js";

/** A button that copies a value without showing it. Only its person presses it: a page has no command for it. */
export function createCopyFrame(
  { locale, options }: InitMessage,
  read: () => Promise<string>,
  send: (event: FieldEvent) => void,
): void {
  const texts = TEXTS[locale];
  const name = options.label ?? fieldLabel(texts, "copy");
  const button = labelledButton(texts.copy, name);
  button.className = "copy";
  document.body.replaceChildren(button);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await copyText(await read());
      label(button, texts.copied, name);
      send({ type: "copied" });
    } catch (error) {
      label(button, texts.failed, name);
      const code = error instanceof Error ? error.name : "failed";
      send({ type: "failed", error: { code, message: error instanceof Error ? error.message : texts.failed } });
    } finally {
      button.disabled = false;
      button.focus();
    }
  });
}
