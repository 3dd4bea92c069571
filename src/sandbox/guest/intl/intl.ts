import { type HostIntl, intlTime, numeral } from "./host-intl.js";
import { createLocaleClass } from "./locale.js";

type ReadArguments = (...args: readonly unknown[]) => readonly unknown[];

const times: ReadArguments = (...args) => args.map(intlTime);
const oneTime: ReadArguments = (time) => [intlTime(time)];
const numbers: ReadArguments = (number) => [numeral(number)];
const relative: ReadArguments = (number, unit) => [numeral(number), String(unit)];
const items: ReadArguments = (list) => [Array.from(Object(list), String)];
const code: ReadArguments = (value) => [String(value)];

/** Methods of each kind of formatter and how their arguments are read. Those in `bound` are bound functions. */
const kinds: Readonly<
  Record<string, { readonly bound?: string; readonly methods: Readonly<Record<string, ReadArguments>> }>
> = {
  DateTimeFormat: {
    bound: "format",
    methods: { format: oneTime, formatToParts: oneTime, formatRange: times, formatRangeToParts: times },
  },
  NumberFormat: { bound: "format", methods: { format: numbers, formatToParts: numbers } },
  PluralRules: { methods: { select: numbers } },
  RelativeTimeFormat: { methods: { format: relative, formatToParts: relative } },
  ListFormat: { methods: { format: items, formatToParts: items } },
  DisplayNames: { methods: { of: code } },
};

/** The global `Intl`, over Node's in the worker. */
export function createIntl(host: HostIntl): object {
  const intl: Record<string, unknown> = {
    getCanonicalLocales: (locales?: unknown) =>
      locales === undefined ? [] : host.call({ kind: "static", method: "getCanonicalLocales", locales }),
    supportedValuesOf: (key: unknown) =>
      host.call({ kind: "static", method: "supportedValuesOf", args: [String(key)] }),
    Collator: createCollator(host),
    Segmenter: createSegmenter(host),
    Locale: createLocaleClass(host),
  };
  for (const [kind, { bound, methods }] of Object.entries(kinds)) {
    const { type, invoke } = createFormatter(host, kind);
    for (const [name, read] of Object.entries(methods)) {
      const method = function (this: object, ...args: readonly unknown[]): unknown {
        return invoke(this, name, read(...args));
      };
      if (name === bound) defineBound(type.prototype, name, method);
      else hide(type.prototype, name, method);
    }
    intl[kind] = bound ? callable(type) : type;
  }
  for (const [name, value] of Object.entries(intl)) hide(intl, name, value);
  return Object.defineProperty(intl, Symbol.toStringTag, { value: "Intl", configurable: true });
}

interface Given {
  readonly locales: unknown;
  readonly options: unknown;
}

/** A class with the methods common to all formatters. Locales and options are validated at construction. */
function createFormatter(host: HostIntl, kind: string) {
  let given: (formatter: object) => Given = () => {
    throw new TypeError(`Intl.${kind} is not complete`);
  };
  const invoke = (formatter: object, method: string, args: readonly unknown[]): unknown =>
    host.call({ kind, method, ...given(formatter), args });
  const type = class {
    readonly #given: Given;
    readonly #resolved: object;

    static {
      given = (formatter) => {
        if (#given in formatter) return formatter.#given;
        throw new TypeError(`Method called on an object that is no Intl.${kind}`);
      };
    }

    constructor(locales?: unknown, options?: unknown) {
      this.#given = {
        locales: typeof locales === "string" || locales === undefined ? locales : Array.from(Object(locales), String),
        options: options === undefined ? undefined : { ...Object(options) },
      };
      this.#resolved = Object(invoke(this, "resolvedOptions", []));
    }

    static supportedLocalesOf(locales: unknown): unknown {
      return host.call({ kind, method: "supportedLocalesOf", locales });
    }

    resolvedOptions(): object {
      return { ...this.#resolved };
    }
  };
  Object.defineProperty(type, "name", { value: kind });
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: `Intl.${kind}`, configurable: true });
  return { type, invoke, given: (formatter: object) => given(formatter) };
}

function createCollator(host: HostIntl) {
  const { type, given } = createFormatter(host, "Collator");
  defineBound(type.prototype, "compare", function (this: object, a: unknown, b: unknown) {
    const { locales, options } = given(this);
    return host.compare(locales, options, String(a), String(b));
  });
  return callable(type);
}

interface Segment {
  readonly segment: string;
  readonly index: number;
  readonly isWordLike?: boolean;
}

function createSegmenter(host: HostIntl) {
  const { type, invoke } = createFormatter(host, "Segmenter");
  hide(type.prototype, "segment", function (this: object, input: unknown) {
    const text = String(input);
    const found: Segment[] = Object(invoke(this, "segment", [text]));
    const segments = found.map((segment) => ({ ...segment, input: text }));
    return {
      containing: (index = 0) => segments.findLast((segment) => segment.index <= index),
      [Symbol.iterator]: () => segments[Symbol.iterator](),
    };
  });
  return type;
}

/** A method that is bound, by the standard: `array.map(formatter.format)` works. */
function defineBound(target: object, name: string, method: (...args: readonly unknown[]) => unknown): void {
  Object.defineProperty(target, name, {
    configurable: true,
    get(this: object) {
      return (...args: readonly unknown[]) => Reflect.apply(method, this, args);
    },
  });
}

/** Some constructors of `Intl` may be called without `new`. */
function callable<T extends new (...args: readonly unknown[]) => object>(type: T): T {
  return new Proxy(type, { apply: (target, _receiver, args) => new target(...args) });
}

export function hide(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}
