import { type Call, type CallOptions, callOf, type ResponseOf } from "./call.js";
import { Deadline } from "./deadline.js";
import { type EncodedObject, encodeInput } from "./encode.js";
import { AttemptError, CloakroomError, type ErrorCode, type Failure, invalidInput } from "./errors.js";
import { intercepted, KEY_HEADER } from "./interceptors.js";
import { type List, listOf, type Page } from "./list.js";
import type { CloakroomOptions } from "./options.js";
import { type Effect, Retries } from "./retries.js";
import { assertComplete, fieldOf, type Shape } from "./shape.js";
import type { AttemptResponse, Transport } from "./transport.js";

const TIMEOUT_MS = 30_000;
const MAX_RETRIES = 2;

/** What a generated method passes on. */
export type Request = readonly [
  method: string,
  effect: Effect,
  /** Completes the response, or each item of a list. */
  shape: Shape | undefined,
  input?: object,
  options?: CallOptions,
  /** Paths of fields that may hold a Date or bytes. */
  special?: string,
  isPatch?: boolean,
];

/** Makes calls: checks and encodes input, sends it as often as is safe, completes responses. Generated classes use it. */
export class Calls {
  readonly transport: Transport;
  readonly #options: CloakroomOptions;
  readonly #checkKey: (key: string) => void;
  readonly #retries = new Retries();

  /** @param checkKey throws for a key that must not be used here. */
  constructor(transport: Transport, options: CloakroomOptions, checkKey: (key: string) => void = () => {}) {
    this.transport = transport;
    this.#options = options;
    this.#checkKey = checkKey;
    if (typeof options.apiKey === "string") checkKey(options.apiKey);
  }

  /** A call whose response is one message. */
  one<T>(...request: Request): Call<T> {
    return callOf(this.respond<T>(request, completed));
  }

  /** A call without a result. */
  nothing(...request: Request): Call<void> {
    return callOf(this.respond(request, () => {}));
  }

  /** A call whose response is a list in one piece. */
  items<T>(...request: Request): Call<readonly T[]> {
    return callOf(this.respond<readonly T[]>(request, itemsOf));
  }

  /** A call whose response is one value. */
  value<T>(...request: Request): Call<T> {
    return callOf(this.respond<T>(request, (message) => completed(fieldOf(message, "value"))));
  }

  /** A list in pages. */
  pages<T>(...[method, effect, shape, input, ...rest]: Request): List<T> {
    const load = async (place: object): Promise<Page<T>> => {
      const { data } = await this.respond(
        [method, effect, shape, { ...input, ...place }, ...rest],
        (message) => message,
      );
      const pagination = fieldOf(data, "pagination");
      const totalItems = fieldOf(pagination, "totalItems");
      const next = placeAfter(pagination);
      return {
        data: itemsOf<T>(data, shape),
        totalItems: typeof totalItems === "number" ? totalItems : undefined,
        nextPage: next && (() => load(next)),
      };
    };
    return listOf(load({}));
  }

  /** Makes a call. `read` takes what the caller gets from the response. */
  protected async respond<T>(
    [method, effect, shape, input = {}, options = {}, special = "", isPatch = false]: Request,
    read: (message: unknown, shape: Shape | undefined) => T,
  ): Promise<ResponseOf<T>> {
    const deadline = new Deadline(options.timeout ?? this.#options.timeout ?? TIMEOUT_MS, options.signal);
    const idempotencyKey = options.idempotencyKey ?? (effect === "keyed" ? randomKey() : undefined);
    const maxRetries = options.maxRetries ?? this.#options.maxRetries ?? MAX_RETRIES;
    let attempt = 0;
    let mayHaveRun = false;
    let isBudgetSpent = false;
    const completed = ({ message, headers }: AttemptResponse): ResponseOf<T> => {
      return { data: read(message, shape), traceId: headers["bt-trace-id"], headers, attempts: attempt };
    };
    try {
      const message = encodeInput(input, special, isPatch);
      const headers = await this.headersOf(options, idempotencyKey, deadline);
      for (;;) {
        attempt += 1;
        const outcome = await this.#attempt(method, message, headers, attempt, deadline);
        if (!(outcome instanceof AttemptError)) return completed(outcome);
        const { failure } = outcome;
        // An earlier attempt has deleted it, and its response was lost.
        if (effect === "delete" && mayHaveRun && failure.code === "not_found")
          return completed({ message: {}, headers: {} });
        // Requests are counted before they run.
        mayHaveRun ||= !failure.didNotRun && failure.code !== "rate_limited";
        const wait = attempt <= maxRetries ? this.#retries.waitAfter(failure, effect, attempt) : undefined;
        isBudgetSpent = wait === "spent";
        if (deadline.ended || typeof wait !== "number" || wait >= deadline.leftMs) throw outcome;
        const ms = Math.round(wait);
        this.#options.logger?.info?.("call is sent again", { method, attempt, code: failure.code, ms });
        if (!(await this.sleep(deadline, wait))) throw outcome;
      }
    } catch (thrown) {
      throw new CloakroomError(failureOf(thrown, deadline), {
        method,
        attempts: attempt,
        idempotencyKey,
        isBudgetSpent,
      });
    } finally {
      deadline.end();
    }
  }

  /** Waits before a call is sent again. False where it must not be. */
  protected async sleep(deadline: Deadline, ms: number): Promise<boolean> {
    await deadline.sleep(ms);
    return !deadline.ended;
  }

  /** Sends a call once, through the interceptors. */
  async #attempt(
    method: string,
    message: EncodedObject,
    headers: Readonly<Record<string, string>>,
    attempt: number,
    deadline: Deadline,
  ): Promise<AttemptResponse | AttemptError> {
    const { interceptors, logger } = this.#options;
    const startedAt = performance.now();
    const log = (text: string, traceId: string | undefined, code?: ErrorCode) =>
      logger?.debug?.(text, { method, attempt, code, traceId, ms: Math.round(performance.now() - startedAt) });
    const send = (sent: Readonly<Record<string, string>>) => {
      if (deadline.ended) throw new AttemptError({ code: deadline.ended, message: "" });
      return this.transport.send({ method, message, headers: sent, end: deadline, timeoutMs: deadline.leftMs });
    };
    try {
      const response = interceptors
        ? await intercepted(interceptors, { method, attempt, headers }, send)
        : await send(headers);
      this.#retries.succeeded();
      log("call answered", response.headers["bt-trace-id"]);
      return response;
    } catch (thrown) {
      // An interceptor's own error is the caller's.
      if (!(thrown instanceof AttemptError)) throw thrown;
      const failure = failureOf(thrown, deadline);
      log("call failed", failure.traceId, failure.code);
      return new AttemptError(failure);
    }
  }

  /** Headers of a call: the key, the trace id, and the caller's own. */
  async headersOf(
    options: CallOptions,
    idempotencyKey: string | undefined,
    deadline: Deadline,
  ): Promise<Record<string, string>> {
    const { apiKey, headers: always } = this.#options;
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries({ ...always, ...options.headers })) setHeader(headers, name, value);
    const key = typeof apiKey === "function" ? await deadline.orEnd(apiKey()) : apiKey;
    if (key !== undefined) this.#checkKey(key);
    setHeader(headers, KEY_HEADER, key, "apiKey");
    setHeader(headers, "bt-idempotency-key", idempotencyKey, "idempotencyKey");
    setHeader(headers, "bt-trace-id", options.traceId, "traceId");
    const reason = options.reason ?? this.#options.reason;
    // Metadata of gRPC holds ASCII only; any text may come in binary metadata, as base64.
    if (reason !== undefined)
      headers["x-cloakroom-reason-bin"] = btoa(String.fromCharCode(...new TextEncoder().encode(reason)));
    return headers;
  }
}

/** @param given where the caller wrote the value, for errors. */
function setHeader(headers: Record<string, string>, name: string, value: string | undefined, given = name): void {
  if (value === undefined) return;
  if (!/^[\t\x20-\x7e]*$/.test(value)) throw invalidInput(given, "must be printable ASCII");
  headers[name.toLowerCase()] = value;
}

function completed<T>(message: unknown, shape?: Shape): T {
  assertComplete<T>(message, shape);
  return message;
}

function itemsOf<T>(message: unknown, shape: Shape | undefined): readonly T[] {
  const items = fieldOf(message, "data");
  const list: readonly unknown[] = Array.isArray(items) ? items : [];
  return list.map((item) => completed<T>(item, shape));
}

/** Where the next page begins: a cursor or a page number. Writes between two numbered pages may move items. */
function placeAfter(pagination: unknown): object | undefined {
  const next = fieldOf(pagination, "next");
  if (typeof next === "string") return { start: next };
  const page = Number(fieldOf(pagination, "pageNumber")) + 1;
  return page <= Number(fieldOf(pagination, "totalPages")) ? { page } : undefined;
}

/** What ended the call itself goes before what the attempt made of it. */
export function failureOf(thrown: unknown, deadline: Deadline): Failure {
  const { ended } = deadline;
  if (ended) return { code: ended, message: `The call was ended by its ${ended === "timeout" ? ended : "signal"}.` };
  if (thrown instanceof AttemptError) return thrown.failure;
  throw thrown;
}

/** A UUID of its own for each call. Pages without TLS have no `randomUUID`. */
function randomKey(): string {
  return (
    crypto.randomUUID?.() ??
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")
  );
}
