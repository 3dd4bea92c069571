/** What the browser keeps of the console's: for the vault's origin, or for the tab until it is closed. */
type Kind = "localStorage" | "sessionStorage";

/** A browser that is set to keep nothing throws already when the storage is named. Then nothing is remembered. */
export function stored(kind: Kind, name: string): string | null {
  try {
    return window[kind].getItem(name);
  } catch {
    return null;
  }
}

/** @param value `null` removes it. */
export function store(kind: Kind, name: string, value: string | null): void {
  try {
    if (value === null) window[kind].removeItem(name);
    else window[kind].setItem(name, value);
  } catch {
    // The page works without it.
  }
}
