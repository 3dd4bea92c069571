import { ApiCall } from "./api-call.js";
import type { ApiCommand } from "./api-command.js";
import { parseArguments } from "./arguments.js";
import { reportFailure } from "./failure.js";
import { commandHelp } from "./help.js";
import { Interrupted } from "./interrupted.js";
import { refuseSecretArguments } from "./secret-arguments.js";

/** Runs a command over the API and sets the exit code. */
export async function runApiCommand(command: ApiCommand, args: readonly string[]): Promise<void> {
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort(new Interrupted()));
  try {
    refuseSecretArguments(args);
    const given = parseArguments(command, args);
    if (given.flags.has("help")) {
      process.stdout.write(`${commandHelp(command)}\n`);
      return;
    }
    await using call = new ApiCall(given, interrupt.signal);
    const run = await command.load();
    await run(call);
  } catch (error) {
    process.exitCode = reportFailure(error, {
      ...{ asJson: args.includes("--json"), color: !args.includes("--no-color") },
    });
  }
}
