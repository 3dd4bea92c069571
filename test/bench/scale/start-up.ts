import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBenchServer } from "../bench-server.js";

/** Milliseconds until a server says that it serves. */
export interface StartUp {
  /** On a machine without any data. */
  readonly first: number;
  /** On its own data, the median of three. */
  readonly again: number;
}

export async function startUp(): Promise<StartUp> {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-bench-"));
  const settings = { CLOAKROOM_DATA_DIR: join(directory, "data") };
  try {
    const times: number[] = [];
    for (let run = 0; run < 4; run += 1) {
      const startedAt = performance.now();
      const server = await startBenchServer(settings, undefined, { isFirst: run === 0 });
      times.push(performance.now() - startedAt);
      await server[Symbol.asyncDispose]();
    }
    const [first = 0, ...others] = times;
    return { first, again: others.toSorted((a, b) => a - b)[1] ?? 0 };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
