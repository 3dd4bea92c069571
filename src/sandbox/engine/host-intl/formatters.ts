import type { Json, JsonObject } from "../../../base/json.js";
import { longText, numeralArgument, numericArgument, shortText, texts } from "./arguments.js";

export interface Formatter {
  /** @throws {TypeError} for a method that it lacks. */
  run(method: string, args: readonly Json[]): unknown;
}

type Methods = Readonly<Record<string, (...args: (Json | undefined)[]) => unknown>>;

function formatter(methods: Methods): Formatter {
  return {
    run(method, args) {
      const found = Object.hasOwn(methods, method) ? methods[method] : undefined;
      if (found === undefined) throw new TypeError(`${method} is not a function`);
      return found(...args);
    },
  };
}

function unitOf(value: Json | undefined): Intl.RelativeTimeFormatUnit {
  const found = relativeUnits.find((unit) => unit === value);
  if (found === undefined) throw new RangeError(`Invalid unit argument for format() '${String(value)}'`);
  return found;
}

const relativeUnits: readonly Intl.RelativeTimeFormatUnit[] = [
  ...(["second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks"] as const),
  ...(["month", "months", "quarter", "quarters", "year", "years"] as const),
];

export const formatters = {
  DateTimeFormat(locales: string[], options: JsonObject): Formatter {
    const format = new Intl.DateTimeFormat(locales, options);
    return formatter({
      resolvedOptions: () => format.resolvedOptions(),
      format: (time) => format.format(numericArgument(time)),
      formatToParts: (time) => format.formatToParts(numericArgument(time)),
      formatRange: (start, end) => format.formatRange(numericArgument(start), numericArgument(end)),
      formatRangeToParts: (start, end) => format.formatRangeToParts(numericArgument(start), numericArgument(end)),
    });
  },
  NumberFormat(locales: string[], options: JsonObject): Formatter {
    const format = new Intl.NumberFormat(locales, options);
    return formatter({
      resolvedOptions: () => format.resolvedOptions(),
      format: (number) => format.format(numeralArgument(number)),
      formatToParts: (number) => format.formatToParts(numeralArgument(number)),
    });
  },
  Collator(locales: string[], options: JsonObject): Formatter {
    const collator = new Intl.Collator(locales, options);
    return formatter({
      resolvedOptions: () => collator.resolvedOptions(),
      compare: (a, b) => collator.compare(shortText(a), shortText(b)),
    });
  },
  PluralRules(locales: string[], options: JsonObject): Formatter {
    const rules = new Intl.PluralRules(locales, options);
    return formatter({
      resolvedOptions: () => rules.resolvedOptions(),
      select: (number) => rules.select(Number(numeralArgument(number))),
    });
  },
  RelativeTimeFormat(locales: string[], options: JsonObject): Formatter {
    const format = new Intl.RelativeTimeFormat(locales, options);
    return formatter({
      resolvedOptions: () => format.resolvedOptions(),
      format: (number, unit) => format.format(Number(numeralArgument(number)), unitOf(unit)),
      formatToParts: (number, unit) => format.formatToParts(Number(numeralArgument(number)), unitOf(unit)),
    });
  },
  ListFormat(locales: string[], options: JsonObject): Formatter {
    const format = new Intl.ListFormat(locales, options);
    return formatter({
      resolvedOptions: () => format.resolvedOptions(),
      format: (items) => format.format(texts(items)),
      formatToParts: (items) => format.formatToParts(texts(items)),
    });
  },
  DisplayNames(locales: string[], options: JsonObject): Formatter {
    const names = new Intl.DisplayNames(locales, displayOptions(options));
    return formatter({
      resolvedOptions: () => names.resolvedOptions(),
      of: (code) => names.of(shortText(code)),
    });
  },
  Segmenter(locales: string[], options: JsonObject): Formatter {
    const segmenter = new Intl.Segmenter(locales, options);
    return formatter({
      resolvedOptions: () => segmenter.resolvedOptions(),
      segment: (input) =>
        Array.from(segmenter.segment(longText(input)), ({ segment, index, isWordLike }) => ({
          segment,
          index,
          isWordLike,
        })),
    });
  },
};

export type FormatterKind = keyof typeof formatters;

export function isFormatterKind(kind: string): kind is FormatterKind {
  return Object.hasOwn(formatters, kind);
}

/** The one constructor whose types ask for an option. */
function displayOptions(options: JsonObject): Intl.DisplayNamesOptions {
  const { type } = options;
  const known = displayTypes.find((candidate) => candidate === type);
  if (known === undefined) throw new TypeError('Required option "type" must be given.');
  return { ...options, type: known };
}

const displayTypes: readonly Intl.DisplayNamesOptions["type"][] = [
  "language",
  "region",
  "script",
  "currency",
  "calendar",
  "dateTimeField",
];
