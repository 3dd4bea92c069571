import { type CallOptions, Cloakroom } from "@cloakroom/client";
import { terminal } from "../../base/terminal.js";
import { UsageError } from "../usage-error.js";
import type { CommandArguments } from "./command-arguments.js";
import { type Credentials, findCredentials } from "./credentials.js";
import { toClientNames } from "./field-names.js";
import { Output } from "./output.js";
import { OWN_PAGE_HEADERS } from "./own-page-headers.js";
import { confirm } from "./prompt.js";
import { checkPath } from "./result-path.js";
import { parseGivenJson, readFile, readReferenced, readStandardInput } from "./standard-input.js";

const LISTED = 20;
/** The client's limit of 2^31 - 1 milliseconds. */
const MAX_TIMEOUT_SECONDS = 2_147_483;
const PAGE = 100;

export class ApiCall implements AsyncDisposable {
  readonly output: Output;
  /** Aborted at Ctrl-C. */
  readonly signal: AbortSignal;
  readonly #given: CommandArguments;
  #client: Cloakroom | undefined;

  constructor(given: CommandArguments, signal: AbortSignal) {
    this.#given = given;
    this.signal = signal;
    const quiet = this.isSet("quiet");
    const other = ["json", "query"].find((flag) => this.isSet(flag));
    if (quiet && other !== undefined) throw new UsageError(`--quiet and --${other} cannot be combined.`);
    const color = !this.isSet("no-color");
    const query = this.text("query");
    // Checked before the call: its result may be a key that is shown once.
    if (query !== undefined) checkPath(query);
    this.output = new Output({ json: this.isSet("json"), query, quiet, color });
  }

  /** An argument that may be absent, by its place. */
  optionalArgument(index: number): string | undefined {
    return this.#given.positionals[index];
  }

  /** An argument by its place, which the command's table requires. */
  argument(index: number): string {
    const value = this.#given.positionals[index];
    if (value === undefined) throw new UsageError("An argument is missing.");
    return value;
  }

  isSet(flag: string): boolean {
    return this.#given.flags.has(flag);
  }

  text(flag: string): string | undefined {
    return this.#given.flags.get(flag)?.at(-1);
  }

  list(flag: string): readonly string[] | undefined {
    return this.#given.flags.get(flag);
  }

  /** @throws {UsageError} without the option. */
  required(flag: string): string {
    const value = this.text(flag);
    if (value === undefined) throw new UsageError(`--${flag} is missing.`);
    return value;
  }

  /** @throws {UsageError} for another text than a whole number from 1. */
  whole(flag: string): number | undefined {
    const text = this.text(flag);
    if (text === undefined) return undefined;
    if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${flag} must be a whole number from 1.`);
    return Number(text);
  }

  /** Entries given as NAME=VALUE. */
  entries(flag: string): Readonly<Record<string, string>> | undefined {
    const texts = this.list(flag);
    return texts && Object.fromEntries(texts.map((text) => entryOf(flag, text)));
  }

  /** The JSON that an option refers to by `@FILE` or `-`. */
  async json(flag: string): Promise<unknown> {
    const reference = this.text(flag);
    return reference === undefined
      ? undefined
      : parseGivenJson(`--${flag}`, await readReferenced(`--${flag}`, reference));
  }

  /** The text that an option refers to by `@FILE` or `-`. */
  async content(flag: string): Promise<string | undefined> {
    const reference = this.text(flag);
    return reference === undefined ? undefined : readReferenced(`--${flag}`, reference);
  }

  /**
   * A request as JSON text in the names of the client: that of `--from`, with these fields over it. The vault checks it.
   * @throws {UsageError} for another thing than an object.
   */
  async request(fields: Readonly<Record<string, unknown>>): Promise<string> {
    const from = this.text("from");
    const text = from === undefined ? "{}" : await readFrom(from);
    const body = parseGivenJson("--from", text);
    if (typeof body !== "object" || body === null || Array.isArray(body)) {
      throw new UsageError("--from must be a JSON object.");
    }
    const given = Object.entries(fields).filter(([, value]) => value !== undefined);
    return JSON.stringify({ ...Object(toClientNames(body)), ...Object.fromEntries(given) });
  }

  /** How many items a list shows, and how many to ask for at once. */
  page(): { readonly limit: number; readonly size: number } {
    const limit = this.isSet("all") ? Number.POSITIVE_INFINITY : (this.whole("limit") ?? LISTED);
    return { limit, size: Math.min(limit, PAGE) };
  }

  /** Prints a list that came whole, up to its limit. */
  showAll(items: readonly unknown[], columns: readonly string[]): void {
    const { limit } = this.page();
    this.output.list(items.slice(0, limit), columns);
  }

  /** Prints a list: up to its limit in one piece, or all of it as it arrives. */
  async show(items: AsyncIterable<unknown>, columns: readonly string[]): Promise<void> {
    const { limit } = this.page();
    const shown: unknown[] = [];
    for await (const item of items) {
      if (limit === Number.POSITIVE_INFINITY) this.output.item(item, columns);
      else if (shown.push(item) >= limit) break;
    }
    if (limit !== Number.POSITIVE_INFINITY) this.output.list(shown, columns);
  }

  /** Asks before something that cannot be undone. @throws {UsageError} where the user does not agree or cannot be asked. */
  async confirm(question: string): Promise<void> {
    if (this.isSet("yes")) return;
    if (this.isSet("no-input")) throw new UsageError(`${question} Add --yes to do it without a question.`);
    await confirm(question, "delete");
  }

  credentials(): Credentials {
    return findCredentials({ url: this.text("url"), profile: this.text("profile") });
  }

  get client(): Cloakroom {
    this.#client ??= clientFor(this.credentials());
    return this.#client;
  }

  /** Options of calls about a person's sign-in. */
  signInOptions() {
    return { signal: this.signal, timeout: this.options().timeout };
  }

  /** Options of each call to the vault. */
  options(): CallOptions {
    const seconds = this.whole("timeout");
    if (seconds !== undefined && seconds > MAX_TIMEOUT_SECONDS) {
      throw new UsageError(`--timeout must be at most ${MAX_TIMEOUT_SECONDS} seconds.`);
    }
    const reason = this.text("reason");
    const idempotencyKey = this.text("idempotency-key");
    return {
      signal: this.signal,
      ...(seconds === undefined ? {} : { timeout: seconds * 1_000 }),
      ...(reason === undefined ? {} : { reason }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.close();
  }
}

export function clientFor({ url, caFile, identity }: Omit<Credentials, "urlFrom">): Cloakroom {
  const tls = caFile === undefined ? {} : { tls: { ca: readFile("ca_file", caFile) } };
  if (identity.kind === "key") return new Cloakroom({ baseUrl: url, apiKey: identity.key, ...tls });
  // The client would take it by itself, and the vault refuses a key together with a sign-in.
  delete terminal().env.CLOAKROOM_API_KEY;
  return new Cloakroom({ baseUrl: url, headers: { ...OWN_PAGE_HEADERS, cookie: identity.cookie }, ...tls });
}

function entryOf(flag: string, text: string): readonly [name: string, value: string] {
  const end = text.indexOf("=");
  if (end < 1) throw new UsageError(`--${flag} must be NAME=VALUE.`);
  return [text.slice(0, end), text.slice(end + 1)];
}

function readFrom(from: string): Promise<string> | string {
  return from === "-" ? readStandardInput("the request") : readFile("--from", from);
}
