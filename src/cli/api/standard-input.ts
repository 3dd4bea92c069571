import { readFileSync } from "node:fs";
import { terminal } from "../../base/terminal.js";
import { UsageError } from "../usage-error.js";

/** Reads all of standard input. On a terminal it says that it waits for input. */
export async function readStandardInput(what: string): Promise<string> {
  if (terminal().stdin.isTTY) terminal().stderr.write(`Reading ${what} from standard input. End with Ctrl-D.\n`);
  const chunks: Buffer[] = [];
  for await (const chunk of terminal().stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * The text that an option refers to: `@FILE` or `-`. Values are never in the option itself, where other users see them.
 * @throws {UsageError} for a value in the option, or a file that cannot be read.
 */
export function readReferenced(option: string, reference: string): Promise<string> {
  if (reference === "-") return readStandardInput(`the value of ${option}`);
  if (!reference.startsWith("@")) {
    throw new UsageError(
      `${option} takes @FILE, or - for standard input: other users can read the arguments of a command.`,
    );
  }
  return Promise.resolve(readFile(option, reference.slice(1)));
}

/** @throws {UsageError} for a file that cannot be read. */
export function readFile(option: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new UsageError(`${option} names a file that cannot be read: ${file}`);
  }
}

/** Parses JSON. @throws {UsageError} that names the option and does not repeat the text. */
export function parseGivenJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${option} must be JSON.`);
  }
}
