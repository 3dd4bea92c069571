import type { HostIntl } from "./host-intl.js";

/** `Intl.Locale`: Node's reading of a tag at construction. */
export function createLocaleClass(host: HostIntl) {
  return class Locale {
    readonly #parts: Readonly<Record<string, unknown>>;

    constructor(tag: unknown, options?: unknown) {
      if (typeof tag !== "string" && (typeof tag !== "object" || tag === null)) {
        throw new TypeError("First argument to Intl.Locale constructor can't be empty or missing");
      }
      const given = options === undefined ? {} : { ...Object(options) };
      this.#parts = Object(host.call({ kind: "static", method: "Locale", args: [String(tag), given] }));
      for (const name of [
        "baseName",
        "language",
        "script",
        "region",
        "calendar",
        "caseFirst",
        "collation",
        "hourCycle",
        "numberingSystem",
        "numeric",
      ]) {
        Object.defineProperty(this, name, { value: this.#parts[name], configurable: true });
      }
    }

    maximize(): Locale {
      return new Locale(this.#parts.maximized);
    }

    minimize(): Locale {
      return new Locale(this.#parts.minimized);
    }

    toString(): string {
      return String(this.#parts.tag);
    }

    get [Symbol.toStringTag](): string {
      return "Intl.Locale";
    }
  };
}
