import type { Host } from "../host.js";
import { parseJson, writeJson } from "../intrinsics.js";
import { URLSearchParams } from "./url-search-params.js";

/** The parts of an address by the worker's own URL class. */
interface Parts {
  readonly href: string;
  readonly origin: string;
  readonly protocol: string;
  readonly username: string;
  readonly password: string;
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly pathname: string;
  readonly search: string;
  readonly hash: string;
}

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

    get protocol(): string {
      return this.#parts.protocol;
    }

    set protocol(value: unknown) {
      this.#set("protocol", value);
    }

    get username(): string {
      return this.#parts.username;
    }

    set username(value: unknown) {
      this.#set("username", value);
    }

    get password(): string {
      return this.#parts.password;
    }

    set password(value: unknown) {
      this.#set("password", value);
    }

    get host(): string {
      return this.#parts.host;
    }

    set host(value: unknown) {
      this.#set("host", value);
    }

    get hostname(): string {
      return this.#parts.hostname;
    }

    set hostname(value: unknown) {
      this.#set("hostname", value);
    }

    get port(): string {
      return this.#parts.port;
    }

    set port(value: unknown) {
      this.#set("port", value);
    }

    get pathname(): string {
      return this.#parts.pathname;
    }

    set pathname(value: unknown) {
      this.#set("pathname", value);
    }

    get search(): string {
      return this.#parts.search;
    }

    set search(value: unknown) {
      this.#set("search", value);
    }

    get hash(): string {
      return this.#parts.hash;
    }

    set hash(value: unknown) {
      this.#set("hash", value);
    }

    get searchParams(): URLSearchParams {
      this.#searchParams ??= new URLSearchParams(this.search, () => {
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

    #set(name: string, value: unknown): void {
      this.#replace(this.#changed(name, String(value)));
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
