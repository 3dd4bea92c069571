import type { Appearance } from "../../../clients/elements/src/protocol.js";
import { isColor } from "./styles.js";

const THEMES: readonly string[] = ["plain", "outlined", "filled"];
const COLORS = ["text", "placeholder", "background", "border", "accent", "danger"] as const;

/**
 * Dresses a frame in a theme and the page's colours, through the object model, which needs no `unsafe-inline`.
 * @param warn called for each name or colour that is refused.
 */
export function applyAppearance(given: Appearance | undefined, warn: (text: string) => void): void {
  const { dataset, style } = document.documentElement;
  const theme = given?.theme ?? "plain";
  if (THEMES.includes(theme)) dataset.theme = theme;
  else warn(`appearance.theme is not one of ${THEMES.join(", ")}`);
  const colors = Object.entries(given?.colors ?? {});
  for (const name of COLORS) style.removeProperty(`--${name}`);
  for (const [name, value] of colors) {
    if (!COLORS.some((known) => known === name)) warn(`appearance.colors.${name} is not among the colours of a field`);
    else if (isColor(value)) style.setProperty(`--${name}`, value);
    else warn(`appearance.colors.${name} has a value that is refused`);
  }
}
