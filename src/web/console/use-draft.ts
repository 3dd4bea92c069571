import { useState } from "react";

/** The fields of a form that a person edits, and a setter for each. */
export function useDraft<T extends object>(
  initial: T,
): readonly [T, <K extends keyof T>(name: K) => (value: T[K]) => void, (next: T) => void] {
  const [draft, setDraft] = useState(initial);
  const set =
    <K extends keyof T>(name: K) =>
    (value: T[K]) =>
      setDraft((current) => ({ ...current, [name]: value }));
  return [draft, set, setDraft];
}
