/** Tabs of this vault say here that somebody signed in or out: they share a cookie. */
export const TABS = "cloakroom-sign-in";

/** Whether the person of this page is still signed in, and when the last call was made. Tabs tell each other. */
export class SignInState {
  #isOver = false;
  #renewals = 0;
  #lastCall = Date.now();
  readonly #listeners = new Set<() => void>();
  readonly #tabs = new BroadcastChannel(TABS);

  constructor() {
    this.#tabs.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data === "signed-out") this.#set(true);
      if (data === "signed-in") this.#set(false);
    };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Grows whenever somebody signs in, in any tab. It may be another person than before. */
  get renewals(): number {
    return this.#renewals;
  }

  /** In milliseconds since 1970, by the browser's clock. */
  get lastCall(): number {
    return this.#lastCall;
  }

  /** The server has answered a call of the person who is signed in. */
  onResponse(): void {
    this.#lastCall = Date.now();
  }

  /** The server does not know the person any more. */
  onSignedOut(): void {
    this.#set(true);
  }

  /** The person has signed in or out in this tab. */
  announce(event: "signed-in" | "signed-out"): void {
    this.#lastCall = Date.now();
    this.#tabs.postMessage(event);
    this.#set(event === "signed-out");
  }

  /** The person has signed in by a page that is not the console's, which led to it. */
  tellOtherTabs(): void {
    this.#tabs.postMessage("signed-in");
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #set(isOver: boolean): void {
    this.#isOver = isOver;
    if (!isOver) this.#renewals += 1;
    for (const listener of this.#listeners) listener();
  }
}
