export function labelledButton(text: string, name: string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  label(button, text, name);
  return button;
}

/** @param name of the value, for screen readers. */
export function label(button: HTMLButtonElement, text: string, name: string): void {
  button.textContent = text;
  button.setAttribute("aria-label", `${text}: ${name}`);
}
