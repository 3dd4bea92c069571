import { mapPositionsToSource } from "../source-position.js";
import type { Host } from "./host.js";
import { format, inspect } from "./node/inspect.js";

/** Longest line; the worker bounds all lines together. */
const LINE_CHARACTERS = 8_192;

export class ConsoleState {
  /** Whether the worker drops further output. Values are not even formatted then. */
  isFull = false;
  /** Whether the tenant's code is CommonJS: positions in its stack traces then refer to the wrapper. */
  isWrapped = true;
}

/** Node's console, as far as it makes sense without a terminal: output is kept with the run. */
export function createConsole(host: Host, consoleState: ConsoleState) {
  const counts = new Map<string, number>();
  const started = new Map<string, number>();
  let indent = "";

  const write = (level: string, values: readonly unknown[]) => {
    if (consoleState.isFull) return;
    const written = `${indent}${format(...values)}`;
    const text = consoleState.isWrapped ? mapPositionsToSource(written) : written;
    const kept = host.log(level, text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS)}...` : text);
    consoleState.isFull = !kept;
  };
  const writer =
    (level: string) =>
    (...values: unknown[]) =>
      write(level, values);
  const elapsed = (label: string) => `${label}: ${Date.now() - (started.get(label) ?? Date.now())}ms`;
  const log = writer("log");

  return {
    log,
    info: writer("info"),
    warn: writer("warn"),
    error: writer("error"),
    debug: writer("debug"),
    trace: (...values: unknown[]) => write("error", ["Trace:", ...values]),
    dir: (value: unknown, options?: unknown) => write("log", [inspect(value, options)]),
    table: log,
    assert: (condition: unknown, ...values: unknown[]) => {
      if (!condition) write("error", ["Assertion failed", ...values]);
    },
    count: (label = "default") => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      write("log", [`${label}: ${counts.get(label)}`]);
    },
    countReset: (label = "default") => void counts.delete(label),
    time: (label = "default") => void started.set(label, Date.now()),
    timeLog: (label = "default", ...values: unknown[]) => write("log", [elapsed(label), ...values]),
    timeEnd: (label = "default") => {
      write("log", [elapsed(label)]);
      started.delete(label);
    },
    group: (...values: unknown[]) => {
      if (values.length > 0) log(...values);
      indent += "  ";
    },
    groupEnd: () => {
      indent = indent.slice(2);
    },
  };
}
