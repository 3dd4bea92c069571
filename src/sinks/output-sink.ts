import { once } from "node:events";
import type { Writable } from "node:stream";
import { type LogSink, SinkFailed, type SinkRecord } from "./sink.js";

const TIMEOUT_MS = 30_000;

/** Lines of JSON on standard output. What reads it afterwards is beyond this sink. */
export class OutputSink implements LogSink {
  readonly name = "file";
  readonly unsureForMs = 0;
  readonly #output: Writable;

  constructor(output: Writable) {
    this.#output = output;
  }

  async send(records: readonly SinkRecord[], stopping: AbortSignal): Promise<void> {
    const text = records.map(({ fields }) => `${JSON.stringify(fields)}\n`).join("");
    if (this.#output.write(text)) return;
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(TIMEOUT_MS)]);
    await once(this.#output, "drain", { signal }).catch(() => {
      throw new SinkFailed("standard output is not read");
    });
  }

  async confirm(): Promise<void> {}

  takeLost(): boolean {
    return false;
  }

  async close(): Promise<void> {}
}
