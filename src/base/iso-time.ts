const ISO = /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?$/;
const OFFSET = /(?:[Zz]|[+-]\d{2}:?\d{2})$/;

/** Reads an ISO 8601 date or date-time. One without an offset is in UTC. Undefined for anything else. */
export function parseIsoTime(text: string): Date | undefined {
  if (!ISO.test(text)) return undefined;
  const isDate = text.length === 10;
  const spelled = text.replace(" ", "T").toUpperCase();
  const time = new Date(isDate || OFFSET.test(spelled) ? spelled : `${spelled}Z`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
