import creditCardType from "credit-card-type";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { passesLuhn } from "../../src/base/luhn.js";
import { binLength, readCardNumber } from "../../src/web/elements/card-number.js";
import { NumberProgress } from "../../src/web/elements/number-progress.js";
import { AWAY_MS, Settling } from "../../src/web/elements/settling.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A number's field as the frame drives it, with all that the page gets of it. */
class Watched {
  readonly seen: unknown[] = [];
  digits = "";
  readonly #settling = new Settling(() => this.#look());
  readonly #progress = new NumberProgress(this.#settling);

  type(digits: string): void {
    this.digits = digits;
    this.#progress.changed(digits, true);
    this.#look();
  }

  clear(): void {
    this.digits = "";
    this.#progress.changed("", false);
    this.#look();
  }

  focus(): void {
    this.#settling.focused();
    this.seen.push("focus");
  }

  leave(): void {
    this.#settling.left();
    this.#look();
    this.seen.push("blur");
  }

  end(): void {
    this.#settling.ended();
  }

  /** What the page gets by a call of tokenize now: the token of the number shows its end. */
  async tokenize(): Promise<void> {
    if (this.#progress.read().isOpen) await this.#settling.wait();
    const { value } = this.#progress.read();
    this.#progress.given();
    const token =
      value === undefined
        ? "incomplete"
        : { bin: this.digits.slice(0, binLength(this.digits)), last4: this.digits.slice(-4) };
    this.seen.push(token);
    this.#look();
  }

  get shown() {
    return this.#progress.shown;
  }

  get reading() {
    return this.#progress.read();
  }

  #look(): void {
    if (!this.#settling.isFocused) this.#progress.show();
    const { value, problem, brand, codeLengths, isFull, isOpen } = this.#progress.read();
    const error = this.#settling.isFocused || isOpen ? undefined : problem;
    this.seen.push({ complete: value !== undefined, brand, codeLengths, isFull, error, shown: this.#progress.shown });
  }
}

const BRANDS = Object.values(creditCardType.types).map((type) => creditCardType.getTypeInfo(type));

/** Each brand with each length that its cards have and the vault stores: 13 to 19 digits. */
const CARDS = BRANDS.flatMap((brand) =>
  brand.lengths.filter((length) => length >= 13).map((length) => [brand.type, length, brand] as const),
);

/** The first eight digits of a card of a brand. */
function binOf(brand: (typeof BRANDS)[number], random: number): string {
  const patterns = brand.patterns.map((pattern) => String(Array.isArray(pattern) ? pattern[0] : pattern));
  const start = patterns[random % patterns.length] ?? "";
  return `${start}${String(random).padStart(8, "0")}`.slice(0, 8);
}

/** Two numbers with the same bin and last four digits whose check digits fit. */
function pairOf(bin: string, length: number, seeds: readonly [number, number]): readonly [string, string] {
  const hidden = length - bin.length - 4;
  const fitting = (seed: number, last4: string) => {
    for (let at = seed; ; at += 1) {
      const number = `${bin}${String(at % 10 ** hidden).padStart(hidden, "0")}${last4}`;
      if (passesLuhn(number)) return number;
    }
  };
  const last4 = String(seeds[0] % 10_000).padStart(4, "0");
  return [fitting(seeds[0], last4), fitting(seeds[1], last4)];
}

/** What the page does between two keys. */
const pageActs = fc.array(fc.constantFrom("steal", "tokenize", "focus", "wait"), { maxLength: 4 });

async function act(field: Watched, name: string): Promise<void> {
  if (name === "focus") field.focus();
  if (name === "wait") vi.advanceTimersByTime(AWAY_MS / 8);
  if (name === "tokenize") {
    const sent = field.tokenize();
    // A call that waits ends when the page gives the focus back.
    field.focus();
    await sent;
  }
  if (name !== "steal") return;
  field.leave();
  vi.advanceTimersByTime(AWAY_MS / 8);
  field.focus();
}

describe("what a hostile page gets while a person types", () => {
  it.each(CARDS)(
    "is the same for two cards of %s with %d digits that differ in hidden ones",
    async (_, length, brand) => {
      const seed = fc.nat({ max: 99_999_999 });
      const steps = fc.array(fc.record({ acts: pageActs, deletes: fc.nat({ max: 3 }) }), {
        minLength: length,
        maxLength: length,
      });
      await fc.assert(
        fc.asyncProperty(seed, seed, seed, steps, async (bin, one, other, moves) => {
          const numbers = pairOf(binOf(brand, bin).slice(0, length >= 16 ? 8 : 6), length, [one, other]);
          const transcripts = await Promise.all(numbers.map((number) => typed(number, moves)));
          expect(transcripts[0]).toEqual(transcripts[1]);
        }),
        { numRuns: 12 },
      );
    },
  );

  interface Move {
    readonly acts: readonly string[];
    readonly deletes: number;
  }

  /** A person who types, deletes some digits again, and goes on, in a page that acts between the keys. */
  async function typed(number: string, moves: readonly Move[]): Promise<readonly unknown[]> {
    const field = new Watched();
    field.focus();
    for (const [at, { acts, deletes }] of moves.entries()) {
      for (let length = at; length > Math.max(0, at - deletes); length -= 1) field.type(number.slice(0, length));
      for (let length = Math.max(0, at - deletes) + 1; length <= at + 1; length += 1)
        field.type(number.slice(0, length));
      for (const name of acts) await act(field, name);
    }
    field.leave();
    // A call waits until the focus was away for some time.
    const sent = field.tokenize();
    vi.advanceTimersByTime(AWAY_MS);
    await sent;
    return field.seen;
  }

  it("contains one end of a number at most, also when the page keeps the focus away at each pause", async () => {
    const growing = BRANDS.filter(({ lengths }) => lengths.includes(19));
    const anyBrand = fc.constantFrom(...growing);
    const digits = fc.array(fc.nat({ max: 9 }), { minLength: 11, maxLength: 11 });
    let disclosed = 0;
    await fc.assert(
      fc.asyncProperty(anyBrand, fc.nat({ max: 99_999_999 }), digits, async (brand, bin, rest) => {
        const number = `${binOf(brand, bin)}${rest.join("")}`;
        const field = new Watched();
        for (let length = 1; length <= 19; length += 1) {
          field.focus();
          field.type(number.slice(0, length));
          field.leave();
          vi.advanceTimersByTime(AWAY_MS);
          await field.tokenize();
        }
        const ends = new Set(
          field.seen.flatMap((entry) => {
            const { last4, shown } = Object(entry);
            return [last4, shown?.last4].filter((end) => end !== undefined);
          }),
        );
        disclosed += ends.size;
        expect(ends.size).toBeLessThanOrEqual(1);
      }),
      { numRuns: 500 },
    );
    // The search reaches numbers whose beginnings pass for whole ones.
    expect(disclosed).toBeGreaterThan(100);
  });
});

/** A number of UnionPay whose first 14 digits have a fitting check digit, and its last one too. */
const GROWING = (() => {
  for (let at = 0; ; at += 1) {
    const start = `62000012${String(at).padStart(6, "0")}`;
    if (!passesLuhn(start)) continue;
    const number = Array.from({ length: 10 }, (_, digit) => `${start}1${digit}`).find(passesLuhn);
    if (number) return number;
  }
})();

describe("a number of a brand with several lengths", () => {
  const typedTo = (length: number) => {
    const field = new Watched();
    field.focus();
    for (let at = 1; at <= length; at += 1) field.type(GROWING.slice(0, at));
    return field;
  };

  it("is judged at 14 digits only when the person has finished", () => {
    const field = typedTo(14);
    expect(readCardNumber(GROWING.slice(0, 14)).isValid).toBe(true);
    expect(field.reading).toMatchObject({ problem: "incomplete", isOpen: true });
    field.end();
    expect(field.reading.value).toBe(GROWING.slice(0, 14));
  });

  it("shows the person after 16 digits whether it is right, and the page nothing", () => {
    const typed = (number: string) => {
      const field = new Watched();
      field.focus();
      for (let at = 1; at <= 16; at += 1) field.type(number.slice(0, at));
      return field;
    };
    const [right, wrong] = [typed("4242424242424242"), typed("4242424242424241")];
    expect(right.reading).toMatchObject({ problem: "incomplete", isOpen: true, looksComplete: true });
    expect(wrong.reading).toMatchObject({ problem: "incomplete", isOpen: true, looksComplete: false });
    expect(wrong.seen).toEqual(right.seen);
  });

  it("is judged after the focus was away for some time, for which a call waits", async () => {
    const field = typedTo(14);
    field.leave();
    const sent = field.tokenize();
    vi.advanceTimersByTime(AWAY_MS);
    await sent;
    expect(field.seen).toContainEqual({ bin: GROWING.slice(0, 6), last4: GROWING.slice(10, 14) });
  });

  it("gives nothing to a call after which the focus returns", async () => {
    const field = typedTo(14);
    field.leave();
    const sent = field.tokenize();
    vi.advanceTimersByTime(AWAY_MS - 1);
    field.focus();
    await sent;
    expect(field.seen).toContain("incomplete");
    expect(JSON.stringify(field.seen)).not.toContain("last4");
  });

  it("is judged at once when it was pasted or filled in", () => {
    const field = new Watched();
    field.type(GROWING.slice(0, 14));
    expect([field.reading.value, field.shown?.last4]).toEqual([GROWING.slice(0, 14), GROWING.slice(10, 14)]);
  });

  it("must be typed again, by the person, when its beginning was shown", () => {
    const field = typedTo(14);
    field.end();
    field.leave();
    expect(field.shown).toEqual({ bin: GROWING.slice(0, 6), last4: GROWING.slice(10, 14) });
    field.focus();
    field.type(GROWING);
    field.end();
    expect(field.reading).toMatchObject({ problem: "retype" });
    field.clear();
    field.type(GROWING);
    expect(field.reading).toMatchObject({ problem: "retype" });
    field.type("");
    field.type(GROWING);
    expect(field.reading.value).toBe(GROWING);
  });

  it("may be replaced by another number", () => {
    const field = typedTo(14);
    field.end();
    field.leave();
    field.clear();
    field.type("378282246310005");
    expect(field.shown).toEqual({ bin: "378282", last4: "0005" });
  });
});
