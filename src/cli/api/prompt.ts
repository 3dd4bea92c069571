import { createInterface } from "node:readline/promises";
import { terminal } from "../../base/terminal.js";
import { UsageError } from "../usage-error.js";
import { Interrupted } from "./interrupted.js";

const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ["\u0003", "\u0004", "\b", "\u007f"];

/**
 * Asks for a secret and does not show what is typed.
 * @throws {UsageError} without a terminal.
 * @throws {Interrupted} at Ctrl-C.
 */
export async function askHidden(question: string): Promise<string> {
  const { stdin, stderr } = terminal();
  if (!stdin.isTTY) throw new UsageError("There is no terminal to ask on: give the value by standard input.");
  stderr.write(`${question}: `);
  stdin.setRawMode?.(true);
  try {
    let typed = "";
    for await (const chunk of stdin) {
      for (const letter of String(chunk)) {
        if (letter === CTRL_C) throw new Interrupted();
        if (letter === "\r" || letter === "\n" || letter === CTRL_D) return typed;
        typed = letter === BACKSPACE || letter === DELETE ? typed.slice(0, -1) : typed + letter;
      }
    }
    return typed;
  } finally {
    stdin.setRawMode?.(false);
    stderr.write("\n");
  }
}

/** Asks the user to type a word to go on. @throws {UsageError} without a terminal, or for another word. */
export async function confirm(question: string, word: string): Promise<void> {
  if (!terminal().stdin.isTTY) throw new UsageError(`${question} Add --yes to do it without a question.`);
  const lines = createInterface({ input: terminal().stdin, output: terminal().stderr });
  try {
    const typed = await lines.question(`${question} Type ${word} to go on: `);
    if (typed.trim() !== word) throw new UsageError("Nothing was changed.");
  } finally {
    lines.close();
  }
}
