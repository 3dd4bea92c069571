import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const COLOURS = readFileSync(new URL("../../../src/web/styles/colours.css", import.meta.url), "utf8");
const SCHEMES = ["light", "dark"] as const;
type Scheme = (typeof SCHEMES)[number];

/** WCAG 2.2, 1.4.3: text. */
const TEXT = 4.5;
/** WCAG 2.2, 1.4.11: edges of controls. */
const EDGE = 3;

const GROUNDS = ["canvas", "surface", "sunken", "hover"] as const;
/** What is written or drawn, on what, with the least contrast. */
const PAIRS: readonly (readonly [string, readonly string[], number])[] = [
  ["text", [...GROUNDS, "accent-soft", "danger-soft", "code-back"], TEXT],
  ["quiet", [...GROUNDS, "redact-soft", "code-back"], TEXT],
  ["accent", [...GROUNDS, "accent-soft"], TEXT],
  ["on-accent", ["accent", "accent-strong"], TEXT],
  ["reveal", ["surface", "hover", "reveal-soft"], TEXT],
  ["mask", ["surface", "hover", "mask-soft"], TEXT],
  ["redact", ["surface", "hover", "redact-soft"], TEXT],
  ["good", ["surface", "hover", "good-soft"], TEXT],
  ["danger", [...GROUNDS, "danger-soft", "code-back"], TEXT],
  ["strong-line", ["surface", "canvas"], EDGE],
  ["brass", ["plum"], EDGE],
  ["reveal-mark", ["surface", "hover"], EDGE],
  ["mask-mark", ["surface", "hover"], EDGE],
  ["redact-mark", ["surface", "hover"], EDGE],
  ["other-mark", ["surface", "hover"], EDGE],
  ["good-mark", ["surface", "hover"], EDGE],
  ["danger-mark", ["surface", "hover"], EDGE],
];

function colourOf(name: string, scheme: Scheme): string {
  const [, light, dark] = new RegExp(`--${name}: (?:light-dark\\()?(#\\w{6})(?:, (#\\w{6})\\))?;`).exec(COLOURS) ?? [];
  const colour = scheme === "dark" ? (dark ?? light) : light;
  if (colour === undefined) throw new Error(`colours.css has no colour --${name}`);
  return colour;
}

/** By WCAG 2: relative luminance of sRGB. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

describe.each(SCHEMES)("the console's colours, %s", (scheme) => {
  it("can be read on every ground that they stand on", () => {
    for (const [name, grounds, least] of PAIRS) {
      for (const ground of grounds) {
        const found = contrast(colourOf(name, scheme), colourOf(ground, scheme));
        expect(found, `${name} on ${ground}`).toBeGreaterThanOrEqual(least);
      }
    }
  });

  it("has a pair for every colour that text may have", () => {
    const named = [...COLOURS.matchAll(/--([\w-]+): (?:light-dark\()?#/g)].map(([, name]) => name);
    const used = new Set(PAIRS.flatMap(([name, grounds]) => [name, ...grounds]));
    expect(named.filter((name) => name !== undefined && !used.has(name))).toEqual(["line"]);
  });
});
