import { createReadStream } from "node:fs";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { readLines } from "../base/line-splitter.js";
import { terminal } from "../base/terminal.js";
import { Sensitive } from "../crypto/sensitive.js";
import { ShareError } from "../crypto/shares.js";
import type { Config } from "../settings/config.js";
import { type ShareResult, sharesIn, unsealSocketPath } from "../vault/unsealing.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

/** Longest result in characters: a problem of one line, and some counts. */
const MAX_RESPONSE_LENGTH = 10_000;

export async function keysUnseal({ config, options, say, printResult: result }: CommandInput): Promise<void> {
  const { file } = options;
  const socket = await dial(config);
  try {
    const outcome = await handIn(socket, sharesOf(typeof file === "string" ? file : undefined), say);
    result({ unsealed: outcome.unsealed, shares_held: outcome.held, shares_needed: outcome.needed });
  } finally {
    socket.destroy();
  }
}

async function dial(config: Config): Promise<Socket> {
  const path = unsealSocketPath(config);
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket));
    socket.on("error", () =>
      reject(
        new UsageError(
          `No sealed server takes shares at ${path}. It is unsealed already, or runs with another CLOAKROOM_DATA_DIR.`,
        ),
      ),
    );
  });
}

async function handIn(
  socket: Socket,
  shares: AsyncIterable<Sensitive<string>>,
  say: (line: string) => void,
): Promise<ShareResult> {
  const results = readLines(socket, MAX_RESPONSE_LENGTH);
  let last: ShareResult | undefined;
  for await (const share of shares) {
    socket.write(`${share.reveal()}\n`);
    const text = await nextOf(results);
    if (text === undefined) throw new ShareError("The server closed the connection.");
    const result: ShareResult = JSON.parse(text);
    if (result.problem) throw new ShareError(result.problem);
    last = result;
    if (result.unsealed) break;
    const apart = `${result.apart} from a different split are kept apart: only shares of one split combine.`;
    say(`${result.held} of ${result.needed} shares received.${result.apart > 0 ? ` ${apart}` : ""}`);
  }
  if (!last) throw new UsageError("No share was given: write them to standard input, one per line, or name a --file.");
  return last;
}

/** Undefined if the server closed or reset the connection. */
async function nextOf(lines: AsyncIterator<string>): Promise<string | undefined> {
  try {
    const { value, done } = await lines.next();
    return done ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Does not echo input at a terminal. */
async function* sharesOf(file: string | undefined): AsyncIterable<Sensitive<string>> {
  const isTyped = file === undefined && terminal().stdin.isTTY;
  const lines = isTyped ? typedLines() : sharesIn(file === undefined ? terminal().stdin : createReadStream(file));
  try {
    for await (const line of lines) if (line.trim() !== "") yield new Sensitive(line.trim());
  } catch (error) {
    throw error instanceof ShareError ? error : new UsageError(`--file ${file} cannot be read.`);
  }
}

async function* typedLines(): AsyncIterable<string> {
  terminal().stderr.write("Share, then Enter; Ctrl-D after the last. Input is not shown.\n");
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: terminal().stdin, output: nowhere, terminal: true });
  try {
    yield* lines;
  } finally {
    lines.close();
  }
}
