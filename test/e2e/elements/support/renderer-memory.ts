import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import type { DevTools } from "./devtools.js";

const CHUNK_BYTES = 4 * 1024 * 1024;
/** Longer than any text that is looked for, in UTF-16. */
const OVERLAP_BYTES = 256;

/** Of /proc/PID/pagemap (Linux, Documentation/admin-guide/mm/pagemap.rst): bits 63 and 62 are in the last byte. */
const PAGE_MAP_ENTRY_BYTES = 8;
const PRESENT = 0x80;
const SWAPPED = 0x40;
/** 4 KB on x64, up to 64 KB on ARM. */
const PAGE_BYTES = Number(execFileSync("getconf", ["PAGESIZE"], { encoding: "utf8" }));

/** The process ids of a browser's renderers. */
export async function renderers(devTools: DevTools): Promise<readonly number[]> {
  const { processInfo } = await devTools.send("SystemInfo.getProcessInfo");
  const processes: readonly { type: string; id: number }[] = Object(processInfo);
  return processes.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

/** Calls `see` with all writable memory of a process as Latin-1, in parts. Linux only, for processes of the same user. */
export function readMemory(pid: number, see: (text: string) => void): void {
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const pageMap = openSync(`/proc/${pid}/pagemap`, "r");
  const buffer = Buffer.alloc(CHUNK_BYTES + OVERLAP_BYTES);
  try {
    for (const [start, end] of writableRanges(pid).flatMap((range) => rangesInUse(pageMap, range))) {
      for (let at = start; at < end; at += CHUNK_BYTES) {
        const length = Math.min(buffer.length, end - at);
        const read = readAt(memory, buffer, length, at);
        if (read > 0) see(buffer.toString("latin1", 0, read));
      }
    }
  } finally {
    closeSync(pageMap);
    closeSync(memory);
  }
}

interface Range {
  readonly start: number;
  readonly end: number;
  /** Other processes see what is written there. */
  readonly isShared: boolean;
}

function writableRanges(pid: number): readonly Range[] {
  const lines = readFileSync(`/proc/${pid}/maps`, "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, start = "", end = "", sharing] = /^([0-9a-f]+)-([0-9a-f]+) rw.([sp])/.exec(line) ?? [];
    if (start === "") return [];
    return [{ start: Number.parseInt(start, 16), end: Number.parseInt(end, 16), isShared: sharing === "s" }];
  });
}

/**
 * The parts of a range that the process has written to: of 600 MB that a renderer may write, 6 to 25 MB. A page that is
 * neither in memory nor swapped out has never been written, except in shared memory, where another process may have
 * done so.
 */
function rangesInUse(pageMap: number, { start, end, isShared }: Range): readonly (readonly [number, number])[] {
  if (isShared) return [[start, end]];
  const entries = Buffer.alloc(((end - start) / PAGE_BYTES) * PAGE_MAP_ENTRY_BYTES);
  const read = readAt(pageMap, entries, entries.length, (start / PAGE_BYTES) * PAGE_MAP_ENTRY_BYTES);
  // A range that was unmapped meanwhile has no entries; the reader of the memory skips it.
  if (read < entries.length) return [[start, end]];
  const found: [start: number, end: number][] = [];
  for (let page = 0; page < entries.length / PAGE_MAP_ENTRY_BYTES; page += 1) {
    const isUsed = (entries.readUInt8(page * PAGE_MAP_ENTRY_BYTES + 7) & (PRESENT | SWAPPED)) !== 0;
    if (!isUsed) continue;
    const at = start + page * PAGE_BYTES;
    const last = found.at(-1);
    if (last?.[1] === at) last[1] += PAGE_BYTES;
    else found.push([at, at + PAGE_BYTES]);
  }
  return found;
}

/** Some ranges cannot be read: device memory, and those that were unmapped meanwhile. */
function readAt(memory: number, buffer: Buffer, length: number, at: number): number {
  try {
    return readSync(memory, buffer, 0, length, at);
  } catch {
    return 0;
  }
}
