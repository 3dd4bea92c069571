import { useState } from "react";
import type { CallProblem } from "./api/call-problem.js";
import { problemWithin } from "./api/problem-within.js";

type SetField<T> = <K extends keyof T>(name: K) => (value: T[K]) => void;

/** The fields of a form that a person edits, and a setter for each. */
export function useDraft<T extends object>(initial: T): readonly [T, SetField<T>, (next: T) => void] {
  const [draft, setDraft] = useState(initial);
  const set =
    <K extends keyof T>(name: K) =>
    (value: T[K]) =>
      setDraft((current) => ({ ...current, [name]: value }));
  return [draft, set, setDraft];
}

/** What a field of a form shows, and where what is typed goes. */
export interface BoundField<V> {
  readonly value: V;
  readonly onChange: (value: V) => void;
  readonly problem: string | undefined;
}

/** Gives each field of a form its part of a draft, and what the API found wrong with the field of the same name. */
export function bindFields<T extends object>(draft: T, set: SetField<T>, problem?: CallProblem) {
  return <K extends keyof T & string>(name: K): BoundField<T[K]> => ({
    value: draft[name],
    onChange: set(name),
    problem: problemWithin(
      problem,
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    ),
  });
}
