import MiniSearch from "minisearch";
import { SEARCH_OPTIONS, type SearchEntry } from "../../src/web/docs/search-entry.js";
import type { Guide } from "./guides.js";
import type { Resource } from "./reference/operations.js";

/** The index of all sections and operations as JSON, for the search in the browser. */
export function searchIndex(guides: readonly Guide[], resources: readonly Resource[]): string {
  const index = new MiniSearch<SearchEntry>(SEARCH_OPTIONS);
  index.addAll([...guides.flatMap(guideEntries), ...resources.flatMap(resourceEntries)]);
  return JSON.stringify(index);
}

function guideEntries({ path, title, summary, sections }: Guide): SearchEntry[] {
  return [
    { path, title, page: "", text: summary },
    ...sections.map(({ id, title: section, text }) => ({
      path: `${path}#${id}`,
      title: decoded(section),
      page: title,
      text: decoded(text),
    })),
  ];
}

function resourceEntries({ path, name, operations }: Resource): SearchEntry[] {
  return operations.map(({ id, title, summary, description, verbs, path: route }) => ({
    path: `${path}#${id}`,
    title,
    page: `API, ${name}`,
    text: [summary, ...description, verbs.join(" "), route, id].join(" "),
  }));
}

/** HTML without tags as text. */
function decoded(html: string): string {
  return html.replaceAll(/&(?:#(\d+)|(amp|lt|gt|quot));/g, (_, code: string | undefined, name: string | undefined) =>
    code === undefined
      ? ({ amp: "&", lt: "<", gt: ">", quot: '"' }[name ?? ""] ?? "")
      : String.fromCharCode(Number(code)),
  );
}
