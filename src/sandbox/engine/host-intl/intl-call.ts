import { isJsonObject, type Json, type JsonObject } from "../../../base/json.js";
import { list, object, parseWireJson, text } from "../../wire/shape.js";
import { longText, numeralArgument, numericArgument } from "./arguments.js";
import { type Formatter, type FormatterKind, formatters, isFormatterKind } from "./formatters.js";
import { localeParts } from "./locale-parts.js";

const MAX_REQUEST_CHARACTERS = 256 * 1024;
const MAX_LOCALES = 20;
const MAX_LOCALE_CHARACTERS = 255;
const MAX_OPTIONS = 40;
const MAX_OPTION_CHARACTERS = 255;

/** Formatters of one run that are kept for reuse: creating one takes 0.1 ms, using it 0.01 ms. */
const MAX_KEPT = 16;

/** Node's `Intl` for one instance. */
export class HostIntl {
  readonly #kept = new Map<string, Formatter>();

  /** Drops all formatters: some hold 100 KB outside of the instance. */
  clear(): void {
    this.#kept.clear();
  }

  /**
   * One call of the guest's `Intl`, as JSON.
   *
   * @returns "=" and the result, or "!" and the name and the message of an error.
   */
  call(request: string): string {
    try {
      if (request.length > MAX_REQUEST_CHARACTERS) throw new RangeError("The text is too long.");
      return `=${JSON.stringify(this.#run(object(parseWireJson(Buffer.from(request)))) ?? null)}`;
    } catch (error) {
      const { name, message }: { name?: unknown; message?: unknown } = Object(error);
      return `!${name === "RangeError" ? name : "TypeError"}: ${String(message)}`;
    }
  }

  #run(request: JsonObject): unknown {
    const method = text(request.method, 40);
    const locales = localesOf(request.locales);
    const options = optionsOf(request.options);
    const args = list(request.args ?? [], 4);
    switch (request.kind) {
      case "static":
        return runStatic(method, locales, args);
      case "date":
        return new Date(numericArgument(args[0]))[oneOf(method, dateMethods)](locales, inUtc(options));
      case "number":
        return numeralArgument(args[0]).toLocaleString(locales, options);
      case "text":
        return longText(args[0])[oneOf(method, textMethods)](locales);
    }
    const kind = text(request.kind, 40);
    if (!isFormatterKind(kind)) throw new TypeError(`Intl.${kind} is not a constructor`);
    if (method === "supportedLocalesOf") return supportedLocales[kind](locales);
    return this.#formatter(kind, locales, options).run(method, args);
  }

  #formatter(kind: FormatterKind, locales: string[], options: JsonObject): Formatter {
    const key = JSON.stringify([kind, locales, options]);
    const found =
      this.#kept.get(key) ?? formatters[kind](locales, kind === "DateTimeFormat" ? inUtc(options) : options);
    this.#kept.delete(key);
    this.#kept.set(key, found);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return found;
  }
}

const supportedLocales: Readonly<Record<FormatterKind, (locales: string[]) => string[]>> = {
  Collator: (locales) => Intl.Collator.supportedLocalesOf(locales),
  DateTimeFormat: (locales) => Intl.DateTimeFormat.supportedLocalesOf(locales),
  DisplayNames: (locales) => Intl.DisplayNames.supportedLocalesOf(locales),
  ListFormat: (locales) => Intl.ListFormat.supportedLocalesOf(locales),
  NumberFormat: (locales) => Intl.NumberFormat.supportedLocalesOf(locales),
  PluralRules: (locales) => Intl.PluralRules.supportedLocalesOf(locales),
  RelativeTimeFormat: (locales) => Intl.RelativeTimeFormat.supportedLocalesOf(locales),
  Segmenter: (locales) => Intl.Segmenter.supportedLocalesOf(locales),
};
const dateMethods = ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"] as const;
const textMethods = ["toLocaleLowerCase", "toLocaleUpperCase"] as const;
const valueKeys = ["calendar", "collation", "currency", "numberingSystem", "timeZone", "unit"] as const;

function runStatic(method: string, locales: string[], args: readonly Json[]): unknown {
  switch (method) {
    case "getCanonicalLocales":
      return Intl.getCanonicalLocales(locales);
    case "supportedValuesOf":
      return Intl.supportedValuesOf(oneOf(text(args[0], 40), valueKeys));
    case "Locale":
      return localeParts(text(args[0], MAX_LOCALE_CHARACTERS), optionsOf(args[1]));
    default:
      throw new TypeError(`Intl.${method} is not a function`);
  }
}

/** The server's time zone says nothing of its tenants'. */
function inUtc(options: JsonObject): JsonObject {
  return options.timeZone === undefined ? { ...options, timeZone: "UTC" } : options;
}

function localesOf(value: Json | undefined): string[] {
  const given =
    value === undefined || value === null ? [] : typeof value === "string" ? [value] : list(value, MAX_LOCALES);
  const locales = given.map((locale) => text(locale, MAX_LOCALE_CHARACTERS));
  return locales.length > 0 ? locales : ["en-US"];
}

function optionsOf(value: Json | undefined): JsonObject {
  if (!isJsonObject(value)) return {};
  const entries = Object.entries(value);
  if (entries.length > MAX_OPTIONS) throw new RangeError("There are too many options.");
  for (const [name, option] of entries) {
    if (typeof option === "object" || (typeof option === "string" && option.length > MAX_OPTION_CHARACTERS)) {
      throw new RangeError(`Value out of range for the option ${name.slice(0, 100)}`);
    }
  }
  return Object.fromEntries(entries);
}

function oneOf<T extends string>(value: string, known: readonly T[]): T {
  const found = known.find((candidate) => candidate === value);
  if (found === undefined) throw new RangeError(`Invalid key : ${value}`);
  return found;
}
