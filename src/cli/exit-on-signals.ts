const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Exits at a signal, with the code that shells show for it. By itself a signal ends a process without its exit listeners,
 * which stop an embedded database and remove what is unfinished.
 */
export function exitOnSignals(signals: readonly NodeJS.Signals[] = SIGNALS): Disposable {
  const exit = (_signal: NodeJS.Signals, number: number) => process.exit(128 + number);
  for (const signal of signals) process.on(signal, exit);
  return {
    [Symbol.dispose]() {
      for (const signal of signals) process.removeListener(signal, exit);
    },
  };
}
