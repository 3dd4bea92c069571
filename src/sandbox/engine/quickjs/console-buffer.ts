import type { ConsoleLine } from "../../run.js";

const levels: readonly ConsoleLine["level"][] = ["debug", "log", "info", "warn", "error"];

/** Counted for each line, to bound the number of empty lines too. */
const LINE_BYTES = 16;

/** The console output of one run, up to a limit; the last line marks truncation. */
export class ConsoleBuffer {
  readonly lines: ConsoleLine[] = [];
  #left: number;

  constructor(limitBytes: number) {
    this.#left = limitBytes;
  }

  /** @returns whether further output will be kept. */
  add(level: string, text: string): boolean {
    if (this.#left <= 0) return false;
    this.#left -= LINE_BYTES + Buffer.byteLength(text);
    const known = levels.find((candidate) => candidate === level) ?? "log";
    if (this.#left > 0) this.lines.push({ level: known, text });
    else this.lines.push({ level: "warn", text: "More was written than is kept." });
    return this.#left > 0;
  }
}
