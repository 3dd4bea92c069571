/** One page of a list. An empty page that has a next one is not the end. */
export interface Page<T> {
  readonly data: readonly T[];
  /** How many items all pages have, where the server counts them. */
  readonly totalItems: number | undefined;
  /** Undefined on the last page. */
  readonly nextPage: (() => Promise<Page<T>>) | undefined;
}

/** A list under way: await it for the first page, iterate it for all items. */
export interface List<T> extends Promise<Page<T>>, AsyncIterable<T> {
  pages(): AsyncIterable<Page<T>>;
  /** Collects items. `limit` is required: a list may have millions. */
  toArray(options: { readonly limit: number }): Promise<T[]>;
}

export function listOf<T>(first: Promise<Page<T>>): List<T> {
  const awaited = first.then((page) => page);
  async function* pages(): AsyncGenerator<Page<T>, void> {
    // The caller sees a failure in the iteration. Without this, Node reports an unhandled rejection of the promise.
    awaited.catch(() => {});
    for (let page: Page<T> | undefined = await first; page; page = await page.nextPage?.()) yield page;
  }
  async function* items(): AsyncGenerator<T, void> {
    for await (const { data } of pages()) yield* data;
  }
  return Object.assign(awaited, {
    pages,
    [Symbol.asyncIterator]: items,
    async toArray({ limit }: { readonly limit: number }) {
      const collected: T[] = [];
      for await (const { data } of pages()) {
        collected.push(...data.slice(0, limit - collected.length));
        if (collected.length >= limit) break;
      }
      return collected;
    },
  });
}
