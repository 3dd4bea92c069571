import { createReadStream } from "node:fs";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { Config } from "../config.js";
import { Sensitive } from "../crypto/sensitive.js";
import { ShareError } from "../crypto/shares.js";
import { type ShareAnswer, unsealSocketOf } from "../unsealing.js";
import { type Command, UsageError } from "./command.js";

export const keysUnseal: Command = {
  summary: "Hand shares of the root key to a server on this machine that waits for them",
  options: { file: { type: "string" } },
  help: [
    "--file F           read shares from this file; else from standard input, one per line",
    "",
    "Shares are never arguments: those are seen by all users of a machine, and kept in its history.",
  ],
  async run({ config, options, say, answer }) {
    const { file } = options;
    const socket = await dial(config);
    try {
      const outcome = await handIn(socket, sharesOf(typeof file === "string" ? file : undefined), say);
      answer({ unsealed: outcome.unsealed, shares_held: outcome.held, shares_needed: outcome.needed });
    } finally {
      socket.destroy();
    }
  },
};

async function dial(config: Config): Promise<Socket> {
  const path = unsealSocketOf(config);
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket));
    socket.once("error", () =>
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
): Promise<ShareAnswer> {
  const answers = createInterface({ input: socket })[Symbol.asyncIterator]();
  let last: ShareAnswer | undefined;
  for await (const share of shares) {
    socket.write(`${share.reveal()}\n`);
    const { value, done } = await answers.next();
    if (done) throw new ShareError("The server hung up.");
    const answer: ShareAnswer = JSON.parse(value);
    if (answer.problem) throw new ShareError(answer.problem);
    last = answer;
    if (answer.unsealed) break;
    say(`${answer.held} of ${answer.needed} shares are in.`);
  }
  if (!last) throw new UsageError("No share was given: write them to standard input, one per line, or name a --file.");
  return last;
}

/** What is typed at a terminal is not shown there. */
async function* sharesOf(file: string | undefined): AsyncIterable<Sensitive<string>> {
  const isTyped = file === undefined && process.stdin.isTTY;
  if (isTyped) process.stderr.write("Share, then Enter; Ctrl-D when there are no more. Nothing is shown.\n");
  const lines = createInterface({
    input: file === undefined ? process.stdin : createReadStream(file),
    ...(isTyped ? { output: new Writable({ write: (_chunk, _encoding, done) => done() }), terminal: true } : {}),
  });
  try {
    for await (const line of lines) if (line.trim() !== "") yield new Sensitive(line.trim());
  } catch {
    throw new UsageError(`--file ${file} cannot be read.`);
  } finally {
    lines.close();
  }
}
