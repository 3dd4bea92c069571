import type { CallProblem } from "./call-problem.js";

/** What is wrong with a field or with something in it, such as `containers[0]`. */
export function problemWithin(problem: CallProblem | undefined, name: string): string | undefined {
  const [, text] = [...(problem?.fields ?? [])].find(([field]) => field.split(/[.[]/)[0] === name) ?? [];
  return text;
}
