/** What a search of the documentation finds: a page, a section of it, or an operation of the API. */
export interface SearchEntry {
  readonly path: string;
  readonly title: string;
  /** The page that a section belongs to. Empty: it is a page. */
  readonly page: string;
  readonly text: string;
}

/** How the build writes the index and the browser reads it: both must agree. */
export const SEARCH_OPTIONS = {
  idField: "path",
  fields: ["title", "page", "text"],
  storeFields: ["title", "page"],
  searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.15 },
};
