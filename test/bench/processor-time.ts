import { readdirSync, readFileSync } from "node:fs";

/** Linux counts processor time in hundredths of a second. */
const TICK_US = 10_000;

/** Processor time of a process and all its descendants in microseconds, user and system together. */
export function processorTime(pid: number): number {
  const all = readAll();
  const below = (parent: number): number =>
    all
      .filter((process) => process.parent === parent)
      .reduce((sum, process) => sum + process.time + below(process.pid), 0);
  return (all.find((process) => process.pid === pid)?.time ?? 0) + below(pid);
}

/** Processor time of one process alone, in microseconds. */
export function ownProcessorTime(pid: number): number {
  return readAll().find((process) => process.pid === pid)?.time ?? 0;
}

/** The only child of a process: the postmaster of a server. */
export function childOf(pid: number): number {
  return readAll().find(({ parent }) => parent === pid)?.pid ?? 0;
}

export function childrenOf(pid: number): number[] {
  return readAll().flatMap((process) => (process.parent === pid ? process.pid : []));
}

/** The child of a process whose command line contains this. @throws Error if no such child runs. */
export function childNamed(parent: number, part: string): number {
  const found = readAll().find(
    (process) => process.parent === parent && readFileSync(`/proc/${process.pid}/cmdline`, "utf8").includes(part),
  );
  if (!found) throw new Error(`the process ${parent} has no child with ${part}`);
  return found.pid;
}

/** Resident memory of one process, in bytes. */
export function residentMemory(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes ?? 0) * 1_024;
}

interface ProcessTime {
  readonly pid: number;
  readonly parent: number;
  readonly time: number;
}

function readAll(): ProcessTime[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // The command's name is in parentheses and may contain blanks. The time of finished children is counted too.
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const fields = stat
          .slice(stat.lastIndexOf(")") + 2)
          .split(" ")
          .map(Number);
        const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + (fields[index] ?? 0), 0);
        return [{ pid: Number(name), parent: fields[1] ?? 0, time: ticks * TICK_US }];
      } catch {
        return [];
      }
    });
}
