/** What would be lost: changes of a form, or the rest of an import that runs. */
export type Loss = "changes" | "import";

/** Keeps a person from leaving a page on which something would be lost, without a question. */
export class LeaveGuard {
  #loss: Loss | undefined;
  #waiting: (() => void) | undefined;
  readonly #listeners = new Set<() => void>();

  get isHeld(): boolean {
    return this.#loss !== undefined;
  }

  /** What a person is asked about now. */
  get asksAbout(): Loss | undefined {
    return this.#waiting && this.#loss;
  }

  /** Asks before the page is left from now on. The browser asks by itself before it leaves the document. */
  hold(loss: Loss): void {
    this.#loss = loss;
    addEventListener("beforeunload", preventDefault);
  }

  /** Nothing is lost any more: the changes are saved or given up, the import has ended. */
  release(): void {
    this.#loss = undefined;
    removeEventListener("beforeunload", preventDefault);
  }

  /** Leaves, at once or after the person has agreed. */
  leave(go: () => void): void {
    if (this.isHeld) this.#wait(go);
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
