import { escaped } from "../../src/base/html.js";
import type { Guide } from "./guides.js";

/** The body of a guide, with the guides before and after it. */
export function guideBody(guides: readonly Guide[], guide: Guide): string {
  const at = guides.indexOf(guide);
  const [before, after] = [guides[at - 1], guides[at + 1]];
  const links = [
    before && `<a href="${before.path}" rel="prev">← ${escaped(before.title)}</a>`,
    `<a href="${guide.path}.md">As Markdown</a>`,
    after && `<a href="${after.path}" rel="next">${escaped(after.title)} →</a>`,
  ];
  return `<main class="guide" id="content">${guide.body}
<nav class="around" aria-label="Neighbours">${links.filter(Boolean).join("\n")}</nav></main>`;
}

/** What programs read first: every guide as Markdown, by groups. */
export function programIndex(guides: readonly Guide[]): string {
  const lists = [...Map.groupBy(guides, ({ group }) => group)].map(
    ([group, entries]) =>
      `## ${group}\n\n${entries.map(({ title, path, summary }) => `- [${title}](${path}.md): ${summary}`).join("\n")}\n`,
  );
  return `# Cloakroom\n\n> An open, self-hosted tokenization vault. Its API is described in /openapi.json.\n\n${lists.join("\n")}`;
}
