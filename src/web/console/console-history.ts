import { useLocationProperty } from "wouter/use-browser-location";
import { leaveGuard } from "./leave-guard.js";

/** What this console keeps in the state of each entry of the browser's history. */
interface EntryState {
  /** Counts the entries of this document. A jump over several is undone by the same number. */
  readonly position: number;
}

interface NavigateOptions {
  readonly replace?: boolean;
}

/** The entry that is shown. */
let position = 0;
/** Set while the browser is on its way back to the entry that it left without a question. */
let returning: { readonly address: Address; readonly target: number } | undefined;
let shown: Address = addressOf(location);

interface Address {
  readonly pathname: string;
  readonly search: string;
}

/**
 * Makes the browser's back and forward buttons ask where links do. A browser cannot be kept from leaving an entry, so the
 * console returns to it, shows its screen all the time, and then asks.
 */
export function watchHistory(): void {
  position = positionIn(history.state) ?? 0;
  writePosition();
  // Before the router's listener, which would already replace the screen.
  addEventListener("popstate", onMove, { capture: true });
}

/** The path that the console shows, and how to open another, for the router. */
export function useConsoleLocation(): [string, (to: string, options?: NavigateOptions) => void] {
  return [useLocationProperty(() => (returning?.address ?? location).pathname), navigate];
}

/** The search part of the address that the console shows, for the router. */
export function useConsoleSearch(): string {
  return useLocationProperty(() => (returning?.address ?? location).search);
}

function navigate(to: string, { replace = false }: NavigateOptions = {}): void {
  if (!replace) position += 1;
  const state: EntryState = { position };
  if (replace) history.replaceState(state, "", to);
  else history.pushState(state, "", to);
  shown = addressOf(location);
}

function onMove(event: PopStateEvent): void {
  const target = positionIn(history.state);
  if (returning) {
    event.stopImmediatePropagation();
    if (target === position) ask(returning.target - position);
    else history.go(position - (target ?? position - 1));
    return;
  }
  const next = addressOf(location);
  // A link within the page, such as the one that skips to the content, makes an entry without a position.
  const isSamePage = next.pathname === shown.pathname && next.search === shown.search;
  if (isSamePage || !leaveGuard.isHeld) {
    if (target === undefined) {
      position += 1;
      writePosition();
    } else position = target;
    shown = next;
    return;
  }
  event.stopImmediatePropagation();
  returning = { address: shown, target: target ?? position - 1 };
  history.go(position - returning.target);
}

function ask(distance: number): void {
  returning = undefined;
  leaveGuard.leave(() => history.go(distance));
}

function writePosition(): void {
  const state: EntryState = { position };
  history.replaceState(state, "");
}

function positionIn(state: unknown): number | undefined {
  if (typeof state !== "object" || state === null || !("position" in state)) return undefined;
  return typeof state.position === "number" ? state.position : undefined;
}

function addressOf({ pathname, search }: Address): Address {
  return { pathname, search };
}
