export interface ThreadState {
  /** The tenant of its calls. A thread serves one tenant at a time: code that blocks it delays no other tenant. */
  readonly tenant: string | undefined;
  /** Calls in it, most of them waiting for the host. */
  readonly calls: number;
  /** It runs a task that shares its thread with no other. */
  readonly isExclusive: boolean;
  /** It has started. */
  readonly isReady: boolean;
  /** Whether an instance of this key was used in it recently. */
  knows(key: string): boolean;
}

/**
 * Chooses the thread for a run, or undefined if it must wait. A tenant gets a separate thread for every call while
 * threads are plentiful, and shares its threads otherwise. They count as plentiful while more of them are free than the
 * tenant holds: one tenant alone gets half of them, the next half of the rest, and so on. One is always left for
 * another tenant.
 */
export function chooseThread<T extends ThreadState>(
  threads: readonly T[],
  tenant: string,
  key: string,
  callsPerThread: number,
): T | undefined {
  const free = threads.filter((thread) => thread.calls === 0);
  const own = threads.filter((thread) => thread.calls > 0 && thread.tenant === tenant);
  if (free.length > own.length) return best(free, key);
  return best(
    own.filter((thread) => thread.calls < callsPerThread && !thread.isExclusive),
    key,
  );
}

/**
 * Chooses the thread for a compilation, or undefined if it must wait. A compilation cannot be interrupted: if it takes
 * too long its thread is ended, so no other task may be in it. Each tenant compiles one piece of code at a time.
 */
export function chooseIdleThread<T extends ThreadState>(threads: readonly T[], tenant: string): T | undefined {
  if (threads.some((thread) => thread.isExclusive && thread.tenant === tenant)) return undefined;
  return best(
    threads.filter((thread) => thread.calls === 0),
    "",
  );
}

/** Prefers a started thread, then one with a warm instance, then the one with the fewest calls. */
function best<T extends ThreadState>(threads: readonly T[], key: string): T | undefined {
  const rank = (thread: T) => (thread.isReady ? 0 : 2_000) + (thread.knows(key) ? 0 : 1_000) + thread.calls;
  return threads.reduce<T | undefined>(
    (chosen, thread) => (chosen === undefined || rank(thread) < rank(chosen) ? thread : chosen),
    undefined,
  );
}
