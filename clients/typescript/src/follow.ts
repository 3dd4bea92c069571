import { type Calls, failureOf } from "./calls.js";
import { Deadline } from "./deadline.js";
import { encodeInput } from "./encode.js";
import { AttemptError, CloakroomError } from "./errors.js";
import { misuse } from "./options.js";
import { assertComplete, isFields, type Shape } from "./shape.js";

/** Options of a stream. */
export interface FollowOptions {
  /** Ends the stream: its iteration then fails with the code `canceled`. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Finds the calls in the operator's log. */
  readonly traceId?: string | undefined;
}

/** Items as they appear. It continues by itself after a lost connection or the end of a stream; leave the loop to stop. */
export interface Followed<T> extends AsyncIterable<T> {
  /** Where another stream continues: after the items that the loop has taken. Undefined before the first message. */
  readonly cursor: string | undefined;
}

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 8_000;
/** Failures after which the stream is opened again, however often. */
const PASSING: readonly string[] = ["connection_failed", "unavailable", "rate_limited", "internal"];
/** A stream that is opened again repeats the items of a few minutes. */
const REMEMBERED_MS = 600_000;

/** Follows a list of items that have an id and a time. */
export function followed<T>(
  calls: Calls,
  method: string,
  shape: Shape,
  input: { readonly after?: string | undefined } = {},
  options: FollowOptions = {},
): Followed<T> {
  let cursor = input.after;
  // A wrong address or key fails at once, and is not tried for ever.
  let hasBegun = false;
  const seen = new Map<string, number>();
  async function* items(): AsyncGenerator<T, void> {
    // Without a time limit, over all streams.
    const end = new Deadline(0, options.signal);
    try {
      for (let failures = 0; ; failures += 1) {
        const failed = yield* once(end, () => {
          failures = 0;
        });
        const wait = Math.random() * Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
        await end.sleep(Math.max(wait, (failed.failure.retryAfter ?? 0) * 1_000));
        if (end.ended) throw failed;
      }
    } catch (thrown) {
      throw new CloakroomError(failureOf(thrown, end), { method, attempts: 1 });
    } finally {
      end.end();
    }
  }

  /** The items of one stream. Returns why it ended, if another can follow. */
  async function* once(end: Deadline, onMessage: () => void): AsyncGenerator<T, AttemptError> {
    try {
      const { transport } = calls;
      const headers = await calls.headersOf(options, undefined, end);
      const message = encodeInput({ ...input, after: cursor }, "", false);
      const attempt = { method, message, headers, end, timeoutMs: Number.POSITIVE_INFINITY };
      if (!transport.open) throw misuse("Streams are for Node.");
      // Transports notice only an end that comes later.
      if (end.ended) throw new AttemptError({ code: end.ended, message: "" });
      for await (const message of transport.open(attempt)) {
        onMessage();
        hasBegun = true;
        if (!isFields(message)) continue;
        for (const item of unseen(message.data, seen)) {
          assertComplete<T>(item, shape);
          yield item;
        }
        if (typeof message.cursor === "string") cursor = message.cursor;
      }
      return new AttemptError({ code: "unavailable", message: "The stream ended." });
    } catch (error) {
      if (!hasBegun || end.ended || !(error instanceof AttemptError) || !mayPass(error)) throw error;
      return error;
    }
  }

  return {
    get cursor() {
      return cursor;
    },
    [Symbol.asyncIterator]: items,
  };
}

function mayPass({ failure: { code, isFinal } }: AttemptError): boolean {
  return isFinal !== true && PASSING.includes(code);
}

/** The items of a message that did not come before. */
function* unseen(data: unknown, seen: Map<string, number>): Generator<unknown> {
  for (const item of Array.isArray(data) ? data : []) {
    if (!isFields(item) || typeof item.id !== "string") continue;
    if (seen.has(item.id)) continue;
    const { createdAt } = item;
    const time = createdAt instanceof Date ? createdAt.getTime() : Date.parse(String(createdAt));
    seen.set(item.id, time);
    // In the order of their arrival, which is nearly that of their times.
    for (const [id, earlier] of seen) {
      if (earlier > time - REMEMBERED_MS) break;
      seen.delete(id);
    }
    yield item;
  }
}
