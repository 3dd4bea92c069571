import type { ElementStyle } from "../../../clients/elements/src/protocol.js";

/** Text and colour alone: nothing that loads, moves or hides. */
const PROPERTIES: ReadonlySet<string> = new Set([
  ...["color", "backgroundColor", "caretColor", "direction", "padding", "textAlign", "textDecoration", "textIndent"],
  ...["fontFamily", "fontSize", "fontSmooth", "fontStyle", "fontVariant", "fontWeight", "lineHeight", "letterSpacing"],
  ...["textShadow", "textTransform", "paddingLeft", "paddingRight", "paddingTop", "paddingBottom"],
]);

/** What could load, run or escape a declaration. */
const DANGEROUS = /url\(|image|expression|var\(|attr\(|env\(|[@;{}\\<>]/i;

const SELECTORS: Readonly<Record<keyof ElementStyle, string>> = {
  base: "input",
  complete: "input.is-complete",
  empty: "input.is-empty",
  invalid: "input.is-invalid",
  hover: "input:hover",
  focus: "input:focus",
  placeholder: "input::placeholder",
};

/**
 * Applies a page's styles through the object model, which needs no `unsafe-inline`.
 * @param warn called for each property or value that is refused.
 */
export function applyStyle(sheet: CSSStyleSheet, style: ElementStyle | undefined, warn: (text: string) => void): void {
  while (sheet.cssRules.length > 0) sheet.deleteRule(0);
  for (const [state, rules] of Object.entries(style ?? {})) {
    const selector = Object.entries(SELECTORS).find(([name]) => name === state)?.[1];
    if (selector === undefined || typeof rules !== "object" || rules === null) {
      warn(`style.${state} is not a state of a field`);
      continue;
    }
    const rule = sheet.cssRules[sheet.insertRule(`${selector}{}`, sheet.cssRules.length)];
    if (!(rule instanceof CSSStyleRule)) continue;
    for (const [property, value] of Object.entries(rules)) {
      const refuse = (problem: string) => warn(`style.${state}.${property} ${problem}`);
      if (property === "iconColor" && state !== "placeholder") setIconColor(sheet, selector, value, refuse);
      else setProperty(rule, property, value, refuse);
    }
  }
}

/** The brand is beside the input, and a placeholder has nothing beside it. */
function setIconColor(sheet: CSSStyleSheet, selector: string, value: unknown, refuse: (problem: string) => void): void {
  if (!isColor(value)) refuse("has a value that is refused");
  else {
    const rule = sheet.cssRules[sheet.insertRule(`${selector} ~ .brand{}`, sheet.cssRules.length)];
    if (rule instanceof CSSStyleRule) rule.style.setProperty("color", value);
  }
}

/** A colour that loads nothing. */
export function isColor(value: unknown): value is string {
  return isSafe(value) && CSS.supports("color", value);
}

function isSafe(value: unknown): value is string {
  return typeof value === "string" && value.length <= 200 && !DANGEROUS.test(value);
}

function setProperty(rule: CSSStyleRule, property: string, value: unknown, refuse: (problem: string) => void): void {
  const name = property.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  if (!PROPERTIES.has(property)) refuse("is not among the properties of a field");
  else if (!isSafe(value) || !CSS.supports(name, value)) refuse("has a value that is refused");
  else rule.style.setProperty(name, value);
}
