/** The fields of a message, without a prototype; empty for anything but an object. */
export function messageFields(data: unknown): Readonly<Record<string, unknown>> {
  return Object.assign(Object.create(null), typeof data === "object" && data !== null ? data : {});
}

/** A text of a message, or undefined. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
