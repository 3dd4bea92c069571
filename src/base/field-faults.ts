/** What is wrong with which field. Names are snake_case paths as the caller sent them: `data.number`, `rules[0].container`. */
export type FieldFaults = Readonly<Record<string, readonly string[]>>;

/** The most faults that one answer lists: a body of 5 MB can have a million wrong fields. */
export const MAX_FAULTS = 100;
/** The most bytes that the listed names and texts have together. */
export const MAX_FAULT_BYTES = 8 * 1024;
/** Names hold the caller's own keys, and texts may quote the request. This many characters tell what is meant. */
export const MAX_NAME_CHARACTERS = 200;
const MAX_TEXT_CHARACTERS = 2_000;

/** Collects faults up to what one answer lists. */
export class BoundedFieldFaults {
  readonly #texts = new Map<string, string[]>();
  #faults = 0;
  #bytes = 0;

  /** Adds a fault if it fits; the same text for the same field once. @returns whether another one may fit. */
  add(field: string, expectation: string): boolean {
    const name = field.slice(0, MAX_NAME_CHARACTERS).toWellFormed();
    const text = expectation.slice(0, MAX_TEXT_CHARACTERS).toWellFormed();
    const texts = this.#texts.get(name) ?? [];
    const bytes = this.#bytes + Buffer.byteLength(name) + Buffer.byteLength(text);
    if (this.#faults === MAX_FAULTS || bytes > MAX_FAULT_BYTES) return false;
    if (!texts.includes(text)) this.#texts.set(name, [...texts, text]);
    // Repeated ones count too: a body can have a million of them.
    this.#faults += 1;
    this.#bytes = bytes;
    return this.#faults < MAX_FAULTS;
  }

  get isEmpty(): boolean {
    return this.#faults === 0;
  }

  toFields(): FieldFaults {
    return Object.fromEntries(this.#texts);
  }
}

/** As many of the faults as one answer lists, from the first. */
export function boundedFields(fields: FieldFaults): FieldFaults {
  const bounded = new BoundedFieldFaults();
  for (const [field, texts] of Object.entries(fields)) {
    for (const text of texts) if (!bounded.add(field, text)) return bounded.toFields();
  }
  return bounded.toFields();
}
