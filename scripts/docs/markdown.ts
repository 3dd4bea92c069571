import { basename } from "node:path";
import { Marked } from "marked";
import { highlighted } from "./highlight.mjs";

export interface RenderedGuide {
  /** HTML. */
  readonly body: string;
  readonly sections: readonly Section[];
}

/** A heading of the second level, and the text below it until the next one. */
export interface Section {
  readonly id: string;
  /** HTML without tags. */
  readonly title: string;
  /** For search. */
  readonly text: string;
}

interface Source {
  readonly name: string;
  readonly markdown: string;
}

interface Target {
  readonly path: string;
  readonly title: string;
  readonly file: string;
}

/** @param linked the guide that a relative address leads to. Files of the repository that are no guides are not served. */
export function renderGuide(source: Source, linked: (href: string) => Target | undefined): RenderedGuide {
  const headings: { readonly id: string; readonly title: string }[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const shown = this.parser.parseInline(tokens);
        if (depth === 2) headings.push({ id: anchor(text), title: withoutTags(shown) });
        return `<h${depth} id="${anchor(text)}">${shown}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        if (/^(https?:|#)/.test(href)) return `<a href="${href}">${text}</a>`;
        const [path = "", fragment = ""] = href.split(/(?=#)/);
        const target = linked(path);
        if (!target) return text;
        // A file's name says little to readers who see no files.
        const shown = text === basename(target.file) ? target.title : text;
        return `<a href="${target.path}${fragment}">${shown}</a>`;
      },
      code({ text, lang }) {
        return `<pre tabindex="0"><code>${highlighted(text, lang)}</code></pre>\n`;
      },
    },
  });
  const html = accessible(marked.parse(source.markdown, { async: false }));
  const body = source.name === "errors" ? withAnchoredCodes(html) : html;
  const texts = html.split(/<h2 /).slice(1).map(withoutTags);
  return {
    body,
    sections: headings.map((heading, at) => ({ ...heading, text: (texts[at] ?? "").replace(/^[^>]*>/, "") })),
  };
}

/** Anchors as repository sites generate them: `#a-jail-around-tenants-code`. */
function anchor(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, "")
    .replaceAll(" ", "-");
}

function withoutTags(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/**
 * What scrolls in its own region must be reachable by keyboard (WCAG 2.1.1), and a head without text heads nothing. Code and
 * text have no tags of their own.
 */
function accessible(html: string): string {
  return html
    .replaceAll("<th></th>", "<td></td>")
    .replaceAll("<table>", '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>");
}

/** The `type` of a problem response leads to the row of its code. */
function withAnchoredCodes(html: string): string {
  return html.replaceAll(/<tr>\n<td><code>(\w+)<\/code>/g, '<tr id="$1">\n<td><code>$1</code>');
}
