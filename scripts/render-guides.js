// Renders the guides of docs/ to HTML in dist/guides, which the server shows at /docs/guides. guides.json lists them.
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

/** Anchors as repository sites generate them: `#a-jail-around-tenants-code`. */
function slugOf(text) {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, "")
    .replaceAll(" ", "-");
}

/** The file that is being rendered: its links are relative to it. */
let current = "";

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${slugOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      if (/^(https?:|#)/.test(href)) return `<a href="${href}">${text}</a>`;
      const [path = "", place = ""] = href.split(/(?=#)/);
      const guide = guides.find(({ file }) => file === join(dirname(current), path));
      // Files of the repository are not served.
      return guide ? `<a href="/docs/guides/${guide.name}${place}">${text}</a>` : text;
    },
  },
});

rmSync(TARGET, { recursive: true, force: true });
mkdirSync(TARGET, { recursive: true });
const listed = guides.map(({ name, file }) => {
  current = file;
  const text = readFileSync(file, "utf8");
  const heading = /^# (.+)$/m.exec(text)?.[1] ?? name;
  const title = name === "start" ? "Start" : heading;
  writeFileSync(join(TARGET, `${name}.html`), marked.parse(text));
  return { name, title };
});
writeFileSync(join(TARGET, "guides.json"), JSON.stringify(listed));
