/** The query of a request's target, without its question mark; empty without one. */
export function queryIn(url = ""): string {
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}
