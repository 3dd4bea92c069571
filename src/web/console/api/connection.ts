/** Between two attempts to reach a vault that is away. */
const ATTEMPT_MS = 5_000;

/**
 * Whether the vault responds. A call without a response is a suspicion only: one request may be lost, or one address be
 * closed by a proxy. The console's own page, which needs no sign-in and keeps none alive, decides.
 */
export class Connection {
  #isLost = false;
  #isAsking = false;
  readonly #listeners = new Set<() => void>();

  get isLost(): boolean {
    return this.#isLost;
  }

  suspect(): void {
    if (!this.#isAsking) void this.#ask();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (!(await isReached())) {
      this.#set(true);
      await laterOrOnline();
    }
    this.#isAsking = false;
    this.#set(false);
  }

  #set(isLost: boolean): void {
    if (this.#isLost === isLost) return;
    this.#isLost = isLost;
    for (const listener of this.#listeners) listener();
  }
}

async function isReached(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ATTEMPT_MS);
    // A 429 is the vault's own. A proxy without a vault behind it sends 502, 503 or 504.
    return (await fetch("/console", { method: "HEAD", cache: "no-store", signal })).status < 500;
  } catch {
    return false;
  }
}

/** The browser tells at once when its network is back. */
function laterOrOnline(): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ATTEMPT_MS);
    addEventListener("online", done);
  });
}
