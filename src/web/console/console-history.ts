import { useLocationProperty } from "wouter/use-browser-location";
import { type LeaveGuard, leaveGuard } from "./leave-guard.js";

/** What this console keeps in the state of each entry of the browser's history. */
interface EntryState {
  /** Counts the entries of this document. A jump over several is undone by the same number. */
  readonly position: number;
}

interface NavigateOptions {
  readonly replace?: boolean;
}

interface Address {
  readonly pathname: string;
  readonly search: string;
}

/**
 * Makes the browser's back and forward buttons ask where links do. A browser cannot be kept from leaving an entry, so the
 * console returns to it, shows its screen all the time, and then asks.
 */
export class ConsoleHistory {
  readonly #guard: LeaveGuard;
  #position = 0;
  #shown: Address | undefined;
  /** Set while the browser is on its way back to the entry that it left without a question. */
  #returning: { readonly address: Address; readonly target: number } | undefined;

  constructor(guard: LeaveGuard) {
    this.#guard = guard;
  }

  /** What the console shows. It differs from the browser's address while the browser is on its way back. */
  get shown(): Address {
    return this.#returning?.address ?? location;
  }

  /** Begins with the entry that the document was opened at. */
  watch(): void {
    this.#position = positionIn(history.state) ?? 0;
    this.#shown = copyAddress(location);
    this.#writePosition();
    // Before the router's listener, which would already replace the screen.
    addEventListener("popstate", (event) => this.#onMove(event), { capture: true });
  }

  readonly navigate = (to: string, { replace = false }: NavigateOptions = {}): void => {
    if (!replace) this.#position += 1;
    const state: EntryState = { position: this.#position };
    if (replace) history.replaceState(state, "", to);
    else history.pushState(state, "", to);
    this.#shown = copyAddress(location);
  };

  #onMove(event: PopStateEvent): void {
    const target = positionIn(history.state);
    if (this.#returning) {
      event.stopImmediatePropagation();
      if (target === this.#position) this.#ask(this.#returning.target - this.#position);
      else history.go(this.#position - (target ?? this.#position - 1));
      return;
    }
    const next = copyAddress(location);
    const left = this.#shown ?? next;
    // A link within the page, such as the one that skips to the content, makes an entry without a position.
    const isSamePage = next.pathname === left.pathname && next.search === left.search;
    if (isSamePage || !this.#guard.isHeld) {
      this.#arriveAt(next, target);
      return;
    }
    event.stopImmediatePropagation();
    this.#returning = { address: left, target: target ?? this.#position - 1 };
    history.go(this.#position - this.#returning.target);
  }

  #arriveAt(address: Address, position: number | undefined): void {
    this.#position = position ?? this.#position + 1;
    if (position === undefined) this.#writePosition();
    this.#shown = address;
  }

  #ask(distance: number): void {
    this.#returning = undefined;
    this.#guard.leave(() => history.go(distance));
  }

  #writePosition(): void {
    const state: EntryState = { position: this.#position };
    history.replaceState(state, "");
  }
}

function positionIn(state: unknown): number | undefined {
  if (typeof state !== "object" || state === null || !("position" in state)) return undefined;
  return typeof state.position === "number" ? state.position : undefined;
}

function copyAddress({ pathname, search }: Address): Address {
  return { pathname, search };
}

/** A document has one history. */
export const consoleHistory = new ConsoleHistory(leaveGuard);

/** The path that the console shows, and how to open another, for the router. */
export function useConsoleLocation(): [string, ConsoleHistory["navigate"]] {
  return [useLocationProperty(() => consoleHistory.shown.pathname), consoleHistory.navigate];
}

/** The search part of the address that the console shows, for the router. */
export function useConsoleSearch(): string {
  return useLocationProperty(() => consoleHistory.shown.search);
}
