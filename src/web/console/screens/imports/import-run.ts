import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Client, ConnectError } from "@connectrpc/connect";
import type { TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { type BatchSender, importBatches, type ResultLine, sendBatch } from "../../../../token-files/import-batch.js";
import { UnreadableFile } from "../../../../token-files/unreadable-file.js";
import { type CallProblem, toCallProblem } from "../../api/call-problem.js";
import { type ChosenFile, fileImportId, fileProblem, rowsIn } from "./token-file.js";

export interface ImportProgress {
  readonly state: "ready" | "running" | "stopped" | "done";
  readonly stored: number;
  /** Of the stored ones, those whose value the vault had already. */
  readonly deduplicated: number;
  readonly failed: number;
  /** Bytes of the file that were read. */
  readonly bytes: number;
  /** When the rows of this run began, and how many there were before: a repeat goes on after them. */
  readonly startedAt: number;
  readonly before: number;
  /** Why it stopped. Undefined: its person stopped it. */
  readonly problem?: CallProblem | UnreadableFile | undefined;
  /** The first rows that are not stored. */
  readonly failures: readonly ResultLine[];
}

const READY: ImportProgress = {
  state: "ready",
  stored: 0,
  deduplicated: 0,
  failed: 0,
  bytes: 0,
  startedAt: 0,
  before: 0,
  failures: [],
};
/** Failed rows on the page. The file of results has all. */
const SHOWN_FAILURES = 100;

/** Imports a file batch by batch. Stopped, it goes on after the last batch that was answered. */
export class ImportRun {
  readonly #chosen: ChosenFile;
  readonly #sender: BatchSender;
  readonly #listeners = new Set<() => void>();
  /** The browser keeps large ones out of memory. */
  #results: Blob[] = [];
  #progress = READY;
  #stop = new AbortController();

  constructor(client: Client<typeof TokenService>, chosen: ChosenFile) {
    this.#chosen = chosen;
    this.#sender = batchSender(client, fileImportId(chosen), () => this.#stop.signal);
  }

  get progress(): ImportProgress {
    return this.#progress;
  }

  /** A line of JSON for each row, as the command writes it. */
  get results(): Blob {
    return new Blob(this.#results, { type: "application/x-ndjson" });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  stop(): void {
    this.#stop.abort();
    if (this.#progress.state === "running") this.#change({ state: "stopped" });
  }

  /** Begins, or goes on. */
  async start(): Promise<void> {
    const stop = new AbortController();
    this.#stop = stop;
    const { stored, failed } = this.#progress;
    this.#change({ state: "running", problem: undefined, startedAt: Date.now(), before: stored + failed });
    try {
      const rows = rowsIn(this.#chosen, (bytes) => stop.signal.aborted || this.#change({ bytes }));
      for await (const batch of importBatches(rows)) {
        if (stop.signal.aborted) return;
        if (batch.position <= stored + failed) continue;
        const lines = await sendBatch(this.#sender, batch);
        if (stop.signal.aborted) return;
        this.#take(lines);
      }
      if (!stop.signal.aborted) this.#change({ state: "done" });
    } catch (error) {
      if (!stop.signal.aborted) this.#change({ state: "stopped", problem: importProblem(error) });
    }
  }

  #take(lines: readonly ResultLine[]): void {
    const failed = lines.filter(({ error }) => error !== undefined);
    const { stored, deduplicated, failed: before, failures } = this.#progress;
    this.#results.push(new Blob([lines.map((line) => `${JSON.stringify(line)}\n`).join("")]));
    this.#change({
      stored: stored + lines.length - failed.length,
      deduplicated: deduplicated + lines.filter((line) => line.deduplicated).length,
      failed: before + failed.length,
      failures: [...failures, ...failed].slice(0, SHOWN_FAILURES),
    });
  }

  #change(change: Partial<ImportProgress>): void {
    this.#progress = { ...this.#progress, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function importProblem(error: unknown): CallProblem | UnreadableFile {
  const problem = fileProblem(error);
  if (problem) return problem;
  // It is no failure of the network, which a repeat might mend.
  if (!(error instanceof ConnectError)) return new UnreadableFile("This page cannot go on with the file.");
  return toCallProblem(error);
}

function batchSender(client: Client<typeof TokenService>, importId: string, signal: () => AbortSignal): BatchSender {
  return {
    async send(position, rows) {
      const values = rows.map((row) => fromJson(ValueSchema, row));
      const { results } = await client.importTokens({ importId, position, rows: values }, { signal: signal() });
      return results;
    },
    fieldsOf: (error) => (error instanceof UnreadableFile ? undefined : toCallProblem(error).fields),
  };
}
