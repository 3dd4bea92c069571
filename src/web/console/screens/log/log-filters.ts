/** The filters of the log explorer. Times are local, as the browser's own field writes them; empty: none. */
export interface LogFilters {
  readonly entityType: string;
  readonly entityId: string;
  readonly from: string;
  readonly to: string;
}

export function filtersOf(params: URLSearchParams): LogFilters {
  const text = (name: string) => params.get(name) ?? "";
  return {
    entityType: text("entity_type"),
    entityId: text("entity_id"),
    from: timeIn(text("from")),
    to: timeIn(text("to")),
  };
}

/** A local time as ISO 8601 in UTC. */
export function utcOf(local: string): string {
  return new Date(local).toISOString();
}

/** An address can contain anything; what is no time is no filter. */
function timeIn(text: string): string {
  return Number.isNaN(new Date(text).getTime()) ? "" : text;
}
