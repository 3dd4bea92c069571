import { useCallback, useEffect, useState } from "react";

/** How long a value in the clear is shown. */
export const SHOWN_MS = 30_000;

/** A value that is forgotten after 30 s, and when the window is left. */
export function useShownBriefly<T>(): readonly [T | undefined, (value: T) => void, () => void] {
  const [value, setValue] = useState<T>();
  const hide = useCallback(() => setValue(undefined), []);
  const isShown = value !== undefined;
  useEffect(() => {
    if (!isShown) return undefined;
    const timer = setTimeout(hide, SHOWN_MS);
    addEventListener("blur", hide);
    addEventListener("pagehide", hide);
    document.addEventListener("visibilitychange", hide);
    return () => {
      clearTimeout(timer);
      removeEventListener("blur", hide);
      removeEventListener("pagehide", hide);
      document.removeEventListener("visibilitychange", hide);
    };
  }, [isShown, hide]);
  return [value, setValue, hide];
}
