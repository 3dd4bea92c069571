import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keepWrittenSections } from "./written-sections.js";

const page = (...sections: string[]) => `${["# Page\n\nHead.", ...sections].join("\n\n")}\n`;
const section = (heading: string, text: string) => `## ${heading}\n\n${text}`;

describe("a page that is measured again", () => {
  it("has the new figures, and keeps what was written behind the section that it followed", () => {
    const former = page(
      section("Callers", "1"),
      section("By hand", "why"),
      section("By hand too", "how"),
      section("Plans at 1,000 tokens", "2"),
    );
    const measured = page(section("Callers", "3"), section("Start", "4"), section("Plans at 10,000 tokens", "5"));
    expect(keepWrittenSections(measured, former)).toBe(
      page(
        section("Callers", "3"),
        section("By hand", "why"),
        section("By hand too", "how"),
        section("Start", "4"),
        section("Plans at 10,000 tokens", "5"),
      ),
    );
  });

  it("changes nothing if it was measured as it is", () => {
    const performance = readFileSync("docs/performance.md", "utf8");
    expect(keepWrittenSections(performance, performance)).toBe(performance);
  });

  it("loses no section of either page", () => {
    const headings = fc.uniqueArray(fc.stringMatching(/^[A-Z][a-z]{0,3}$/), { maxLength: 6 });
    fc.assert(
      fc.property(headings, headings, (now, before) => {
        const text = keepWrittenSections(
          page(...now.map((heading) => section(heading, "now"))),
          page(...before.map((heading) => section(heading, "before"))),
        );
        const found = [...text.matchAll(/^## (.*)\n\n(.*)$/gm)].map(([, heading, body]) => ({ heading, body }));
        const named = (body: string) => found.filter((one) => one.body === body).map(({ heading }) => heading);
        expect(named("now")).toEqual(now);
        expect(named("before").toSorted()).toEqual(before.filter((heading) => !now.includes(heading)).toSorted());
      }),
    );
  });
});
