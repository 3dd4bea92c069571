import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** The exit code of a wrong call, as of the program's own commands. */
const WRONG_CALL = 2;

/** Reads a benchmark's options. Prints a line with them and ends the process if the arguments are others. */
export function readOptions<const T extends ParseArgsOptionsConfig>(options: T) {
  try {
    return parseArgs({ options }).values;
  } catch {
    const shown = Object.entries(options).map(([name, { type }]) => `[--${name}${type === "string" ? " VALUE" : ""}]`);
    return endWith(shown.join(" "));
  }
}

/** A whole number from 1. Prints a line and ends the process for another text. */
export function wholeNumber(name: string, text: string): number {
  return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : endWith(`[--${name} N], a whole number from 1`);
}

/** Reads a benchmark's only argument, a whole number. Prints a line and ends the process for other arguments. */
export function readOnlyNumber(name: string, otherwise: number): number {
  const [text = String(otherwise), ...more] = process.argv.slice(2);
  if (more.length === 0 && /^[1-9]\d{0,9}$/.test(text)) return Number(text);
  return endWith(`[${name}], a whole number; default: ${otherwise}`);
}

function endWith(usage: string): never {
  process.stderr.write(`Options of this benchmark: ${usage}\n`);
  process.exit(WRONG_CALL);
}
