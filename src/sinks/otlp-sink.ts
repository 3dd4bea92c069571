import type { Sensitive } from "../crypto/sensitive.js";
import { type LogSink, SinkFailed, type SinkRecord, sinkFailure } from "./sink.js";

export interface OtlpSinkOptions {
  /** With its path, such as http://collector:4318/v1/logs. */
  readonly url: string;
  /** Further headers, which may hold a credential. */
  readonly headers: ReadonlyMap<string, Sensitive<string>>;
  /** Called with the id of a record that the receiver rejects for good. */
  readonly onRejected: (id: string) => void;
}

const TIMEOUT_MS = 10_000;
/** Bytes of a response, decompressed. One has the number of rejected records, and a message. */
const MAX_RESPONSE = 64 * 1024;
/** Statuses for which the same request is sent again (OTLP specification, "Retryable Response Codes"). */
const RETRYABLE = [429, 502, 503, 504];
/** INFO, WARN and ERROR. */
const SEVERITIES = { allowed: 9, denied: 13, failed: 17 } as const;

/** OTLP logs over HTTP, in JSON. A record counts as received once the receiver has responded. */
export class OtlpSink implements LogSink {
  readonly name = "otlp";
  readonly unsureForMs = 0;
  readonly #options: OtlpSinkOptions;

  constructor(options: OtlpSinkOptions) {
    this.#options = options;
  }

  async send(records: readonly SinkRecord[], signal: AbortSignal): Promise<void> {
    const rejected = await this.#post(records, signal);
    if (rejected === 0) return;
    const [only] = records;
    // The response does not say which: accepted ones are sent twice until the rejected one is alone.
    if (records.length === 1 && only) return this.#options.onRejected(only.id);
    const middle = Math.ceil(records.length / 2);
    await this.send(records.slice(0, middle), signal);
    await this.send(records.slice(middle), signal);
  }

  async confirm(): Promise<void> {}

  takeLost(): boolean {
    return false;
  }

  async close(): Promise<void> {}

  /** The number of records that the receiver rejects. */
  async #post(records: readonly SinkRecord[], stopping: AbortSignal): Promise<number> {
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(TIMEOUT_MS)]);
    const headers = [...this.#options.headers].map(([name, value]): [string, string] => [name, value.reveal()]);
    try {
      const response = await fetch(this.#options.url, {
        method: "POST",
        redirect: "error",
        signal,
        headers: [["content-type", "application/json"], ...headers],
        body: JSON.stringify(otlpLogs(records, Date.now())),
      });
      if (response.ok) return rejectedOf(await responseText(response));
      await response.body?.cancel();
      const wait = RETRYABLE.includes(response.status)
        ? Number(response.headers.get("retry-after") ?? Number.NaN)
        : Number.NaN;
      const status = `the receiver of CLOAKROOM_AUDIT_OTLP_URL responds with status ${response.status}`;
      throw new SinkFailed(status, Number.isNaN(wait) ? undefined : wait * 1_000);
    } catch (error) {
      throw sinkFailure("the receiver of CLOAKROOM_AUDIT_OTLP_URL cannot be reached", error);
    }
  }
}

/** The text of a response; empty if it is longer than that of any OTLP receiver. */
async function responseText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop ends the response.
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE) return "";
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** @throws {SinkFailed} for a 200 of something that is no OTLP receiver, which would lose the records. */
function rejectedOf(text: string): number {
  const response = parsed(text);
  const partial: unknown = response ? Reflect.get(response, "partialSuccess") : undefined;
  const isPartial = typeof partial === "object" && partial !== null;
  const count = Number((isPartial ? Reflect.get(partial, "rejectedLogRecords") : undefined) ?? 0);
  if (!response || !Number.isSafeInteger(count) || count < 0) {
    throw new SinkFailed("CLOAKROOM_AUDIT_OTLP_URL did not respond as an OTLP/HTTP JSON receiver");
  }
  return count;
}

/** An object of JSON; undefined for anything else. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function otlpLogs(records: readonly SinkRecord[], now: number): object {
  const attribute = (key: string, value: string | number) => ({
    key,
    value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
  });
  const logRecords = records.map(({ time, name, outcome, message, traceId, fields }) => ({
    timeUnixNano: nanosOf(time),
    observedTimeUnixNano: `${now}000000`,
    severityNumber: SEVERITIES[outcome],
    eventName: `cloakroom.audit.${name}`,
    body: { stringValue: message },
    ...(traceId === undefined ? {} : { traceId }),
    attributes: Object.entries(fields).flatMap(([key, value]) =>
      value === null ? [] : attribute(`cloakroom.${key}`, value),
    ),
  }));
  const resource = { attributes: [attribute("service.name", "cloakroom")] };
  return { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: "cloakroom.audit" }, logRecords }] }] };
}

/** Microseconds fit a number, nanoseconds do not. */
function nanosOf(time: string): string {
  return `${Date.parse(`${time.slice(0, 23)}Z`)}${time.slice(23, 26)}000`;
}
