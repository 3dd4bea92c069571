/**
 * A page that was measured again, with the sections of the former page that are written by hand: those whose headings the new
 * one lacks, each behind the section that it followed. Headings that differ in numbers only are the same.
 */
export function keepWrittenSections(measured: string, former: string): string {
  const sections = sectionsIn(measured);
  let previous = 0;
  for (const section of sectionsIn(former)) {
    const at = sections.findIndex(({ heading }) => heading === section.heading);
    if (at >= 0) {
      previous = at;
      continue;
    }
    previous += 1;
    sections.splice(previous, 0, section);
  }
  return `${sections.map(({ text }) => text).join("\n\n")}\n`;
}

interface Section {
  /** Without its numbers. */
  readonly heading: string;
  /** With its heading, without empty lines at its end. */
  readonly text: string;
}

/** The text before the first "##", then each section. Lines of code that begin with "##" would be taken for headings. */
function sectionsIn(page: string): Section[] {
  return page.split(/^(?=## )/m).map((section) => {
    const [heading = ""] = section.split("\n", 1);
    return { heading: heading.replaceAll(/[\d,]+/g, "0"), text: section.trimEnd() };
  });
}
