import { invalid } from "../../base/fault.js";

/** A comparison as written: a field, the key for metadata, and the value to compare with. */
export interface SearchTerm {
  readonly field: string;
  /** The part after `metadata.`. */
  readonly key: string | undefined;
  readonly value: SearchValue;
  readonly position: number;
}

export type SearchValue =
  | {
      readonly kind: "text";
      readonly text: string;
      /** A quoted asterisk is literal. */
      readonly isQuoted: boolean;
    }
  /** The ends as written; undefined for an open end. */
  | { readonly kind: "range"; readonly from: RangeEnd | undefined; readonly to: RangeEnd | undefined };

export interface RangeEnd {
  readonly text: string;
  readonly isInclusive: boolean;
}

const BREAKS = /[\s"()]/;

export class QueryReader {
  readonly #query: string;
  #at = 0;

  constructor(query: string) {
    this.#query = query;
  }

  get position(): number {
    return this.#at + 1;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#query.length;
  }

  /** The next character, or the empty string at the end. */
  get next(): string {
    return this.#query.charAt(this.#at);
  }

  skipBlanks(): void {
    while (/\s/.test(this.next)) this.#at += 1;
  }

  take(character: string): boolean {
    if (this.next !== character) return false;
    this.#at += 1;
    return true;
  }

  /** Whether the next word is this one, such as AND. */
  isAtWord(word: string): boolean {
    return this.#query.startsWith(word, this.#at) && /^$|[\s(]/.test(this.#query.charAt(this.#at + word.length));
  }

  takeWord(word: string): boolean {
    if (!this.isAtWord(word)) return false;
    this.#at += word.length;
    return true;
  }

  /** @throws {Fault} validation_failed naming `query`, the position, and what is expected there. */
  refuse(expected: string, position = this.position): never {
    throw invalid("query", `must have ${expected} at character ${position}`);
  }

  term(): SearchTerm {
    const position = this.position;
    const field = this.#word(/[A-Za-z_]/);
    if (field === "") this.refuse('a term such as type:card or data:"a value"');
    const key = this.take(".") ? this.#metadataKey(field) : undefined;
    if (!this.take(":")) this.refuse(`a colon behind ${field}`);
    if (field === "metadata" && key === undefined)
      this.refuse("the name of the metadata, as metadata.name:value", position);
    return { field, key, value: this.#value(field), position };
  }

  #metadataKey(field: string): string {
    if (field !== "metadata") this.refuse(`a colon behind ${field}: only metadata has names`, this.position - 1);
    const key = this.next === '"' ? this.#quoted() : this.#plain(/[\s:"()]/);
    if (key === "") this.refuse("the name of the metadata");
    return key;
  }

  #value(field: string): SearchValue {
    if (this.next === "[" || this.next === "{") return this.#range();
    const { position } = this;
    const isQuoted = this.next === '"';
    const text = isQuoted ? this.#quoted() : this.#plain(BREAKS);
    if (text === "") this.refuse(`a value for ${field}, in quotes where it has blanks or parentheses`, position);
    return { kind: "text", text, isQuoted };
  }

  /** `[a TO b]` includes its ends, `{a TO b}` does not; an asterisk is an open end. */
  #range(): SearchValue {
    const holdsFirst = this.take("[");
    if (!holdsFirst) this.take("{");
    const from = this.#rangeEnd(holdsFirst);
    this.skipBlanks();
    if (!this.takeWord("TO")) this.refuse("TO between the ends of the range");
    const to = this.#rangeEnd(true);
    this.skipBlanks();
    const holdsLast = this.take("]");
    if (!holdsLast && !this.take("}")) this.refuse("the end of the range, ] or }");
    return { kind: "range", from, to: to && { ...to, isInclusive: holdsLast } };
  }

  #rangeEnd(isInclusive: boolean): RangeEnd | undefined {
    this.skipBlanks();
    const { position } = this;
    const isQuoted = this.next === '"';
    const text = isQuoted ? this.#quoted() : this.#plain(/[\s"()[\]{}]/);
    if (text === "") this.refuse("a date, or * for none", position);
    return text === "*" && !isQuoted ? undefined : { text, isInclusive };
  }

  #word(characters: RegExp): string {
    let word = "";
    for (; characters.test(this.next); this.#at += 1) word += this.next;
    return word;
  }

  /** Reads up to a character in `end`. A backslash escapes the next character. */
  #plain(end: RegExp): string {
    let text = "";
    while (!this.isAtEnd && !end.test(this.next)) text += this.#character();
    return text;
  }

  #quoted(): string {
    const { position } = this;
    this.take('"');
    let text = "";
    while (!this.take('"')) {
      if (this.isAtEnd) this.refuse("the end of the quotes that begin", position);
      text += this.#character();
    }
    return text;
  }

  /** One character of a text, or the escaped one after a backslash. */
  #character(): string {
    this.take("\\");
    if (this.isAtEnd) this.refuse("a character behind the backslash");
    const { next } = this;
    this.#at += 1;
    return next;
  }
}
