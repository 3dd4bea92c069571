// Renders the guides of docs/ to HTML in dist/guides, which the server shows at /docs/guides, beside their Markdown and the
// styles. guides.json lists them in the order and groups of docs/tree.json.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Marked } from "marked";

/** Pages for people who work on the project. */
const INTERNAL = new Set(["performance", "testing", "walks", "where-to-find-it"]);
const TARGET = "dist/guides";

const guides = [
  { name: "start", file: "README.md" },
  { name: "client", file: "clients/typescript/README.md" },
  ...readdirSync("docs")
    .filter((file) => file.endsWith(".md") && !INTERNAL.has(basename(file, ".md")))
    .toSorted()
    .map((file) => ({ name: basename(file, ".md"), file: join("docs", file) })),
];

const tree = JSON.parse(readFileSync("docs/tree.json", "utf8"));
const ordered = tree.flatMap(({ group, guides: names }) => names.map((name) => ({ group, name })));
const misplaced = new Set(guides.map(({ name }) => name)).symmetricDifference(new Set(ordered.map(({ name }) => name)));
if (misplaced.size > 0) throw new Error(`docs/tree.json and docs/ differ in: ${[...misplaced].join(", ")}`);

/** Anchors as repository sites generate them: `#a-jail-around-tenants-code`. */
function slugOf(text) {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, "")
    .replaceAll(" ", "-");
}

function titleOf({ name, file }) {
  if (name === "start") return "Start";
  return /^# (.+)$/m.exec(readFileSync(file, "utf8"))?.[1] ?? name;
}

/**
 * What scrolls in its own region must be reachable by keyboard (WCAG 2.1.1), and a head without text heads nothing. Code and
 * text have no tags of their own.
 */
function accessible(html) {
  return html
    .replaceAll("<th></th>", "<td></td>")
    .replaceAll("<pre>", '<pre tabindex="0">')
    .replaceAll("<table>", '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>");
}

/** The file that is being rendered: its links are relative to it. */
let current = "";
/** Its sections so far. */
let sections = [];

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const shown = this.parser.parseInline(tokens);
      if (depth === 2) sections.push({ id: slugOf(text), title: shown.replaceAll(/<[^>]+>/g, "") });
      return `<h${depth} id="${slugOf(text)}">${shown}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      if (/^(https?:|#)/.test(href)) return `<a href="${href}">${text}</a>`;
      const [path = "", place = ""] = href.split(/(?=#)/);
      const guide = guides.find(({ file }) => file === join(dirname(current), path));
      // Files of the repository are not served.
      // A file's name says little to readers who see no files.
      const shown = guide && text === basename(guide.file) ? titleOf(guide) : text;
      return guide ? `<a href="/docs/guides/${guide.name}${place}">${shown}</a>` : text;
    },
  },
});

rmSync(TARGET, { recursive: true, force: true });
mkdirSync(TARGET, { recursive: true });
const listed = ordered.map(({ group, name }) => {
  const { file = "" } = guides.find((guide) => guide.name === name) ?? {};
  current = file;
  sections = [];
  const text = readFileSync(file, "utf8");
  const title = titleOf({ name, file });
  writeFileSync(join(TARGET, `${name}.html`), accessible(marked.parse(text)));
  writeFileSync(join(TARGET, `${name}.md`), text);
  return { name, title, group, sections };
});
writeFileSync(join(TARGET, "guides.json"), JSON.stringify(listed));
const styles = ["styles/colours.css", "styles/page.css", "docs/docs.css"].map((file) => join("src/web", file));
writeFileSync(join(TARGET, "docs.css"), styles.map((file) => readFileSync(file, "utf8")).join(""));
