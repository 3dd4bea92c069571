/** Faults by field. Names are snake_case paths as the caller sent them: `data.number`, `rules[0].container`. */
export type FieldFaults = Readonly<Record<string, readonly string[]>>;

/** The most faults that one response lists: a body of 5 MB can have a million wrong fields. */
export const MAX_FAULTS = 100;
/** Byte limit of all listed names and texts together. */
export const MAX_FAULT_BYTES = 8 * 1024;
/** Names contain the caller's own keys, and texts may quote the request. 200 characters identify a field. */
export const MAX_NAME_CHARACTERS = 200;
const MAX_TEXT_CHARACTERS = 2_000;

/** Collects faults up to the limits of one response. */
export class BoundedFieldFaults {
  /** Made with the first fault: every request has such lists, and most stay empty. */
  #texts: Map<string, string[]> | undefined;
  #faults = 0;
  #bytes = 0;

  /** Adds a fault if it fits, and ignores a repeated text for the same field. @returns whether another one may fit. */
  add(field: string, expectation: string): boolean {
    const name = field.slice(0, MAX_NAME_CHARACTERS).toWellFormed();
    const text = expectation.slice(0, MAX_TEXT_CHARACTERS).toWellFormed();
    this.#texts ??= new Map();
    const texts = this.#texts.get(name) ?? [];
    const bytes = this.#bytes + Buffer.byteLength(name) + Buffer.byteLength(text);
    if (this.#faults === MAX_FAULTS || bytes > MAX_FAULT_BYTES) return false;
    if (!texts.includes(text)) this.#texts.set(name, [...texts, text]);
    // Repeated faults count too: a body can have a million of them.
    this.#faults += 1;
    this.#bytes = bytes;
    return this.#faults < MAX_FAULTS;
  }

  get isEmpty(): boolean {
    return this.#faults === 0;
  }

  toFields(): FieldFaults {
    return Object.fromEntries(this.#texts ?? []);
  }
}

/** The first faults, as many as one response lists. */
export function boundedFields(fields: FieldFaults): FieldFaults {
  const bounded = new BoundedFieldFaults();
  for (const [field, texts] of Object.entries(fields)) {
    for (const text of texts) if (!bounded.add(field, text)) return bounded.toFields();
  }
  return bounded.toFields();
}
