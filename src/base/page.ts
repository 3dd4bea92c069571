/** The requested page of a list, already validated: page from 1, size from 1 to the operation's maximum. */
export interface PageRequest {
  readonly page: number;
  readonly size: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Number of items on all pages. */
  readonly total: number;
}

export const DEFAULT_PAGE_SIZE = 20;

/** Number of items before a page. */
export function offsetOf({ page, size }: PageRequest): number {
  return (page - 1) * size;
}
