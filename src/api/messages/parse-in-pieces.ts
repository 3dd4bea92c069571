import type { Steps } from "../../base/caller-turns.js";
import { type Json, type JsonObject, setOwnProperty } from "../../base/json.js";
import { closingQuote } from "../../base/json-structure.js";

/** Bytes that the engine's parser reads at once, in about 0.2 ms. */
const PIECE = 16 * 1024;

const BLANK = 1;
const STRING = 2;
const OPENING = 3;
const CLOSING = 4;
const COMMA = 5;

/** Bytes between the parts of a text, that change its level, or end an entry. */
const MEANING = new Uint8Array(256);
const meansFor = (characters: string, meaning: number) => {
  for (const character of characters) MEANING[character.charCodeAt(0)] = meaning;
};
meansFor(" \t\r\n", BLANK);
meansFor('"', STRING);
meansFor("[{", OPENING);
meansFor("]}", CLOSING);
meansFor(",", COMMA);

/**
 * Parses UTF-8 like `JSON.parse`, which reads each piece of a large list or object: as many of its entries as are short
 * together. A long text within is one piece. No string has the whole: beyond 128 KB, it would stay in memory until the
 * engine collects all of it, which stops every request.
 * @throws {SyntaxError} as `JSON.parse`, at another place of the text.
 */
export function* parseInPieces(json: Buffer): Steps<Json> {
  if (json.length <= PIECE) return JSON.parse(json.toString());
  const pieces = new Pieces(json);
  pieces.skipBlanks();
  const value = yield* pieces.value();
  pieces.skipBlanks();
  if (pieces.at < json.length) throw new SyntaxError("there is more than one value");
  return value;
}

class Pieces {
  readonly #json: Buffer;
  at = 0;

  constructor(json: Buffer) {
    this.#json = json;
  }

  skipBlanks(): void {
    while (this.#meaning === BLANK) this.at += 1;
  }

  /** Of the byte that is read next. Undefined at the end. */
  get #meaning(): number | undefined {
    return MEANING[this.#json[this.at] ?? -1];
  }

  #isAt(character: string): boolean {
    return this.#json[this.at] === character.charCodeAt(0);
  }

  /** Reads the value that begins here. */
  *value(): Steps<Json> {
    if (this.#isAt("[")) {
      const lists: Json[][] = [];
      yield* this.#entries("[", "]", {
        take: (entries) => {
          const items: Json = JSON.parse(`[${entries}]`);
          if (Array.isArray(items)) lists.push(items);
        },
        takeLong: function* (this: void, pieces: Pieces) {
          lists.push([yield* pieces.value()]);
        },
      });
      // At once: a list that grows leaves twice its memory behind, which only a collection of all memory frees.
      const none: Json[] = [];
      return none.concat(...lists);
    }
    if (this.#isAt("{")) {
      const object: JsonObject = {};
      yield* this.#entries("{", "}", {
        take: (entries) => {
          const members: JsonObject = JSON.parse(`{${entries}}`);
          for (const name of Object.keys(members)) setOwnProperty(object, name, members[name] ?? null);
        },
        takeLong: function* (this: void, pieces: Pieces) {
          const name: unknown = JSON.parse(pieces.name());
          setOwnProperty(object, String(name), yield* pieces.value());
        },
      });
      return object;
    }
    const start = this.at;
    this.#skipEntry();
    yield;
    return JSON.parse(this.#json.toString("utf8", start, this.at));
  }

  /** Reads the name of a member that begins here, and stops at its value. */
  name(): string {
    const start = this.at;
    if (!this.#isAt('"')) throw new SyntaxError("a name is missing");
    this.at = closingQuote(this.#json, start) + 1;
    const name = this.#json.toString("utf8", start, this.at);
    this.skipBlanks();
    this.#expect(":");
    this.skipBlanks();
    return name;
  }

  *#entries(opening: "[" | "{", closing: "]" | "}", taker: Taker): Steps<void> {
    this.#expect(opening);
    this.skipBlanks();
    if (this.#isAt(closing)) {
      this.at += 1;
      return;
    }
    for (let hasMore = true; hasMore; ) {
      const start = this.at;
      let end = start;
      // As many entries as are short together.
      for (;;) {
        this.skipBlanks();
        const entryAt = this.at;
        const isWhole = this.#skipEntry(start + PIECE);
        if (!isWhole) {
          this.at = entryAt;
          break;
        }
        end = this.at;
        hasMore = this.#isAt(",");
        if (!hasMore) break;
        this.at += 1;
      }
      if (end > start) {
        const entries = this.#json.toString("utf8", start, end);
        if (entries.trim() === "") throw new SyntaxError("an entry is missing");
        taker.take(entries);
      } else {
        yield* taker.takeLong(this);
        this.skipBlanks();
        hasMore = this.#isAt(",");
        if (hasMore) {
          this.at += 1;
          this.skipBlanks();
        }
      }
      yield;
    }
    this.#expect(closing);
  }

  /**
   * Skips an entry up to the comma or bracket after it. Its brackets are not compared: the parser does so.
   * @param latest where it stops looking. @returns whether the entry ends before.
   */
  #skipEntry(latest = this.#json.length): boolean {
    const end = Math.min(latest, this.#json.length);
    for (let depth = 0; this.at < end; this.at += 1) {
      switch (this.#meaning) {
        case STRING:
          this.at = Math.min(closingQuote(this.#json, this.at, end), end - 1);
          break;
        case OPENING:
          depth += 1;
          break;
        case COMMA:
          if (depth === 0) return true;
          break;
        case CLOSING:
          if (depth === 0) return true;
          depth -= 1;
          break;
        default:
      }
    }
    return this.at >= this.#json.length;
  }

  #expect(character: string): void {
    if (!this.#isAt(character)) throw new SyntaxError(`${character} is missing`);
    this.at += 1;
  }
}

interface Taker {
  take(entries: string): void;
  /** Reads one that is long, and adds it. */
  takeLong(pieces: Pieces): Steps<void>;
}
