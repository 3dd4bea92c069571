import { store, stored } from "./browser-storage.js";

/** `system` follows the browser. */
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "cloakroom-theme";

export function chosenTheme(): Theme {
  const name = stored("localStorage", STORED);
  return THEMES.find((theme) => theme === name) ?? "system";
}

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}

export function chooseTheme(theme: Theme): void {
  store("localStorage", STORED, theme);
  applyTheme(theme);
}
