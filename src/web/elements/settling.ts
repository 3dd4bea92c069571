/** How long the focus must be away before an entry counts as finished without further signs. Milliseconds. */
export const AWAY_MS = 2_000;

/**
 * Whether a person has finished an entry. A page can take the focus away at each key and give it back, so a lost focus
 * proves nothing at once. Tab, Enter, a click into another field and a longer absence do: no page can cause the former, and
 * of the latter it gets one try before the person goes on typing.
 */
export class Settling {
  readonly #onSettled: () => void;
  readonly #waiting = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSettled = true;
  #isFocused = false;

  /** @param onSettled called when an entry that was open is finished. */
  constructor(onSettled: () => void) {
    this.#onSettled = onSettled;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  get isFocused(): boolean {
    return this.#isFocused;
  }

  /** @param isWhole whether the entry arrived at once, as by autofill: no page has seen its beginnings. */
  changed(isWhole: boolean): void {
    this.#isSettled = isWhole;
    if (!this.#isFocused) this.#startTimer();
  }

  focused(): void {
    this.#isFocused = true;
    clearTimeout(this.#timer);
    this.#release();
  }

  left(): void {
    this.#isFocused = false;
    this.#startTimer();
  }

  /** The person pressed Tab or Enter, or clicked into another field. */
  ended(): void {
    clearTimeout(this.#timer);
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#onSettled();
    this.#release();
  }

  /** Waits while the focus is away and the entry open. */
  async wait(): Promise<void> {
    if (this.#isSettled || this.#isFocused) return;
    await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #startTimer(): void {
    clearTimeout(this.#timer);
    if (!this.#isSettled) this.#timer = setTimeout(() => this.ended(), AWAY_MS);
  }

  #release(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
