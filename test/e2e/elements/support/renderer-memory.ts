import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import type { DevTools } from "./devtools.js";

const CHUNK_BYTES = 4 * 1024 * 1024;
/** Longer than any text that is looked for, in UTF-16. */
const OVERLAP_BYTES = 256;

/** The process ids of a browser's renderers. */
export async function renderers(devTools: DevTools): Promise<readonly number[]> {
  const { processInfo } = await devTools.send("SystemInfo.getProcessInfo");
  const processes: readonly { type: string; id: number }[] = Object(processInfo);
  return processes.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

/** Calls `see` with all writable memory of a process as Latin-1, in parts. Linux only, for processes of the same user. */
export function readMemory(pid: number, see: (text: string) => void): void {
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const buffer = Buffer.alloc(CHUNK_BYTES + OVERLAP_BYTES);
  try {
    for (const [start, end] of writableRanges(pid)) {
      for (let at = start; at < end; at += CHUNK_BYTES) {
        const length = Math.min(buffer.length, end - at);
        const read = readAt(memory, buffer, length, at);
        if (read > 0) see(buffer.toString("latin1", 0, read));
      }
    }
  } finally {
    closeSync(memory);
  }
}

function writableRanges(pid: number): readonly (readonly [start: number, end: number])[] {
  const lines = readFileSync(`/proc/${pid}/maps`, "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, start = "", end = ""] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
    return start === "" ? [] : [[Number.parseInt(start, 16), Number.parseInt(end, 16)] as const];
  });
}

/** Some ranges cannot be read: device memory, and those that were unmapped meanwhile. */
function readAt(memory: number, buffer: Buffer, length: number, at: number): number {
  try {
    return readSync(memory, buffer, 0, length, at);
  } catch {
    return 0;
  }
}
