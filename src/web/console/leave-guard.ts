/** Keeps a person from leaving a form with changes that are not saved, without a question. */
export class LeaveGuard {
  #isHeld = false;
  #waiting: (() => void) | undefined;
  readonly #listeners = new Set<() => void>();

  get isHeld(): boolean {
    return this.#isHeld;
  }

  get isAsking(): boolean {
    return this.#waiting !== undefined;
  }

  /** Asks before the page is left from now on. The browser asks by itself before it leaves the document. */
  hold(): void {
    this.#isHeld = true;
    addEventListener("beforeunload", preventDefault);
  }

  /** The changes are saved, or given up. */
  release(): void {
    this.#isHeld = false;
    removeEventListener("beforeunload", preventDefault);
  }

  /** Leaves, at once or after the person has agreed. */
  leave(go: () => void): void {
    if (this.#isHeld) this.#wait(go);
    else go();
  }

  /** What the person decides. */
  readonly decide = (doesLeave: boolean): void => {
    const go = this.#waiting;
    this.#wait(undefined);
    if (!doesLeave || !go) return;
    this.release();
    go();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #wait(go: (() => void) | undefined): void {
    this.#waiting = go;
    for (const listener of this.#listeners) listener();
  }
}

function preventDefault(event: Event): void {
  event.preventDefault();
}

/** The page has one form at a time that is worth asking for. */
export const leaveGuard = new LeaveGuard();
