import { useSearchParams } from "wouter";
import type { OffsetPage } from "#client/proto/cloakroom/v1/pagination_pb.js";

/** The page of an offset list that the address names. */
export function usePageNumber(): number {
  const [params] = useSearchParams();
  const page = Number(params.get("page") ?? "1");
  return Number.isInteger(page) && page > 0 ? page : 1;
}

/** Leads through an offset list. */
export function OffsetPages({ page }: { page: OffsetPage | undefined }) {
  const [, setParams] = useSearchParams();
  if (!page || page.totalPages <= 1) return null;
  const goTo = (number: number) =>
    setParams((params) => {
      params.set("page", String(number));
      return params;
    });
  return (
    <nav className="pages" aria-label="Pages">
      <button type="button" disabled={page.pageNumber <= 1} onClick={() => goTo(page.pageNumber - 1)}>
        Previous
      </button>
      <span>
        Page {page.pageNumber} of {page.totalPages}
      </span>
      <button type="button" disabled={page.pageNumber >= page.totalPages} onClick={() => goTo(page.pageNumber + 1)}>
        Next
      </button>
    </nav>
  );
}

/** Leads through a list by cursor. The browser's own button leads back. */
export function CursorPages({ next }: { next: string | undefined }) {
  const [params, setParams] = useSearchParams();
  const isFirst = !params.has("start");
  if (isFirst && next === undefined) return null;
  const goTo = (start: string | undefined) =>
    setParams((current) => {
      if (start === undefined) current.delete("start");
      else current.set("start", start);
      return current;
    });
  return (
    <nav className="pages" aria-label="Pages">
      <button type="button" disabled={isFirst} onClick={() => goTo(undefined)}>
        Newest
      </button>
      <button type="button" disabled={next === undefined} onClick={() => goTo(next)}>
        Older
      </button>
    </nav>
  );
}
