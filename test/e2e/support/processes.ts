import { readdirSync, readFileSync } from "node:fs";
import { vi } from "vitest";

/** The operator's log lines in a server's output. */
export function logLines(said: string): Record<string, unknown>[] {
  return said.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
}

/** The ids of the worker processes by number, as the log last reports them. */
export function processIds(said: string): Map<number, number> {
  const ready = logLines(said).filter(({ msg }) => msg === "a process takes requests");
  return new Map(ready.map(({ worker, pid }) => [Number(worker), Number(pid)]));
}

/** The id of a process by its number. @throws Error if the log names none: signals to 0 reach the tests themselves. */
export function processId(said: string, number: number): number {
  const pid = processIds(said).get(number);
  if (!pid) throw new Error(`the log names no process ${number}`);
  return pid;
}

/** The ids of the first two processes, once the log names them. */
export function bothOf(said: () => string): Promise<number[]> {
  return vi.waitFor(() => [processId(said(), 1), processId(said(), 2)], { interval: 50 });
}

/** The numbers of the processes that served calls of an operation. */
export function servedBy(said: string, rpc: string): Set<unknown> {
  const lines = logLines(said).filter((line) => line.rpc === rpc && line.msg === "served");
  return new Set(lines.map(({ process }) => process));
}

/** The ids of the child processes whose command line contains this. */
export function childrenOf(parent: number | undefined, part: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const [, stat = ""] = readFileSync(`/proc/${name}/stat`, "utf8").split(/\) (?!.*\) )/);
        return Number(stat.split(" ")[1]) === parent && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(part);
      } catch {
        return false;
      }
    })
    .map(Number);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The sum of a metric's values over the labels that contain this. */
export function metric(page: string, name: string, part = ""): number {
  const lines = page.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.filter((line) => line.includes(part)).reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
