import { MINUTE_MS } from "../base/clock.js";
import { countedClient } from "../base/network.js";

/** Rows of refused keys in one minute: of a tenant, and from one source. Anybody who knows a tenant's id can cause them. */
export const ROWS_PER_TENANT = 60;
export const ROWS_PER_SOURCE = 10;
/** Sources of one tenant that a minute counts; further ones count as one. */
const MAX_SOURCES = 1_000;
/** Sources that an aggregate names. */
const NAMED_SOURCES = 5;
/** Longest message of a log row, in characters. */
const MAX_MESSAGE_LENGTH = 200;

/** The refused keys of one tenant in one minute of the server's clock. */
export class RefusalMinute {
  readonly #start: number;
  readonly #sources = new Map<string, { rows: number; further: number }>();
  #rows = 0;
  #further = 0;
  #first = 0;
  #last = 0;

  /** @param at any time within the minute, in milliseconds. */
  constructor(at: number) {
    this.#start = windowStart(at);
  }

  isOver(now: number): boolean {
    return windowStart(now) !== this.#start;
  }

  /** Counts a refusal. Returns whether it gets a row of its own. */
  count(address: string | undefined, now: number): boolean {
    const source = this.#sourceOf(address);
    const isKnown = address !== undefined;
    if (this.#rows < ROWS_PER_TENANT && !(isKnown && source.rows >= ROWS_PER_SOURCE)) {
      this.#rows += 1;
      source.rows += 1;
      return true;
    }
    if (this.#further === 0) this.#first = now;
    this.#last = now;
    this.#further += 1;
    source.further += 1;
    return false;
  }

  /** What the row about all refusals beyond the caps says; undefined if there were none. */
  get summary(): string | undefined {
    if (this.#further === 0) return undefined;
    const ofOthers = [...this.#sources].filter(([, { further }]) => further > 0);
    const most = ofOthers.toSorted(([, one], [, other]) => other.further - one.further);
    const [from, to] = [this.#first, this.#last].map((time) => new Date(time).toISOString().slice(11, 19));
    let text = `${this.#further} more, from ${from} to ${to}, sources: ${ofOthers.length}`;
    for (const [name, { further }] of most.slice(0, NAMED_SOURCES)) {
      const next = `${text}, ${name || "unknown"} (${further})`;
      if (next.length > MAX_MESSAGE_LENGTH - "Application Key refused: ".length) break;
      text = next;
    }
    return text;
  }

  #sourceOf(address: string | undefined) {
    const isFull = this.#sources.size >= MAX_SOURCES;
    const name = countedClient(address ?? "");
    let source = this.#sources.get(name) ?? (isFull ? this.#sources.get(OTHERS) : undefined);
    if (!source) {
      source = { rows: 0, further: 0 };
      this.#sources.set(isFull ? OTHERS : name, source);
    }
    return source;
  }
}

const OTHERS = "others";

function windowStart(time: number): number {
  return Math.floor(time / MINUTE_MS) * MINUTE_MS;
}
