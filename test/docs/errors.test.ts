import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { errorPage } from "../../scripts/error-page.js";
import { FAULT_CODES } from "../../src/base/fault.js";

const page = readFileSync("docs/errors.md", "utf8");

describe("docs/errors.md", () => {
  it("is what `npm run generate` writes", () => {
    expect(page).toBe(errorPage());
  });

  it("lists every code that the server uses, once", () => {
    const listed = [...page.matchAll(/^\| `(\w+)` \| \d{3} \| `[A-Z_]+` \| \S/gm)].map(([, code]) => code);
    expect(listed).toEqual(FAULT_CODES);
  });
});
