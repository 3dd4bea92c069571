const cleanups = new Set<() => void>();

/** Runs `cleanup` when the process exits, unless it was disposed of before. A signal that nothing handles is no exit. */
export function atExit(cleanup: () => void): Disposable {
  if (cleanups.size === 0) process.once("exit", cleanUp);
  cleanups.add(cleanup);
  return {
    [Symbol.dispose]() {
      cleanups.delete(cleanup);
      if (cleanups.size === 0) process.removeListener("exit", cleanUp);
    },
  };
}

function cleanUp(): void {
  for (const cleanup of cleanups) cleanup();
}
