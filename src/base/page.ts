/** Which part of a list is asked for. Both are checked already: page from 1, size from 1 to the operation's maximum. */
export interface PageRequest {
  readonly page: number;
  readonly size: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** How many there are in all. */
  readonly total: number;
}

export const DEFAULT_PAGE_SIZE = 20;

/** How many items lie before a page. */
export function offsetOf({ page, size }: PageRequest): number {
  return (page - 1) * size;
}
