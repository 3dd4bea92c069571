const ISO = /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?$/;
const OFFSET = /(?:[Zz]|[+-]\d{2}:?\d{2})$/;

/**
 * Parses an ISO 8601 date or date-time; UTC if it has no offset. Returns undefined for anything else and for years
 * outside 1 to 9999 UTC: PostgreSQL and protobuf have no year 0, and years have four digits.
 */
export function parseIsoTime(text: string): Date | undefined {
  if (!ISO.test(text) || !isDay(text.slice(0, 10))) return undefined;
  const isDate = text.length === 10;
  const spelled = text.replace(" ", "T").toUpperCase();
  const time = new Date(isDate || OFFSET.test(spelled) ? spelled : `${spelled}Z`);
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9_999 ? time : undefined;
}

/** Date reads 2030-02-30 as the second of March. */
function isDay(date: string): boolean {
  const time = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(date);
}
