import { SETTABLE_URL_PARTS } from "../../wire/url-parts.js";
import type { Host } from "../host.js";
import { parseJson, writeJson } from "../intrinsics.js";
import { URLSearchParams } from "./url-search-params.js";

/** The parts of an address by the worker's own URL class. */
type Parts = Readonly<Record<(typeof SETTABLE_URL_PARTS)[number] | "href" | "origin", string>>;

class InvalidUrl extends TypeError {
  readonly code = "ERR_INVALID_URL";
  readonly input: string;

  constructor(input: string) {
    super("Invalid URL");
    this.input = input;
  }
}

/** The global `URL`, over Node's in the worker. */
export function createUrlClass(host: Host) {
  const ask = (request: object): Parts | undefined => {
    const result = host.url(writeJson(request) ?? "");
    const parts: unknown = result === "" ? undefined : parseJson(result);
    return isParts(parts) ? parts : undefined;
  };

  return class URL {
    #parts: Parts;
    #searchParams: URLSearchParams | undefined;

    constructor(input: unknown, base?: unknown) {
      const text = String(input);
      const parts = ask({ input: text, base: base === undefined ? undefined : String(base) });
      if (parts === undefined) throw new InvalidUrl(text);
      this.#parts = parts;
    }

    static canParse(input: unknown, base?: unknown): boolean {
      return ask({ input: String(input), base: base === undefined ? undefined : String(base) }) !== undefined;
    }

    get href(): string {
      return this.#parts.href;
    }

    set href(value: unknown) {
      const parts = ask({ input: String(value) });
      if (parts === undefined) throw new InvalidUrl(String(value));
      this.#replace(parts);
    }

    get origin(): string {
      return this.#parts.origin;
    }

    static {
      for (const name of SETTABLE_URL_PARTS) {
        Object.defineProperty(URL.prototype, name, {
          configurable: true,
          get(this: URL) {
            return this.#parts[name];
          },
          set(this: URL, value: unknown) {
            this.#replace(this.#changed(name, String(value)));
          },
        });
      }
    }

    get searchParams(): URLSearchParams {
      this.#searchParams ??= new URLSearchParams(this.#parts.search, () => {
        this.#parts = this.#changed("search", String(this.#searchParams));
      });
      return this.#searchParams;
    }

    toString(): string {
      return this.href;
    }

    toJSON(): string {
      return this.href;
    }

    get [Symbol.toStringTag](): string {
      return "URL";
    }

    /** An invalid value leaves the part unchanged. */
    #changed(name: string, value: string): Parts {
      return ask({ input: this.href, set: [name, value] }) ?? this.#parts;
    }

    #replace(parts: Parts): void {
      this.#parts = parts;
      this.#searchParams?.reset(parts.search);
    }
  };
}

function isParts(value: unknown): value is Parts {
  return typeof value === "object" && value !== null && "href" in value;
}
