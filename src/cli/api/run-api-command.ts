import { terminal } from "../../base/terminal.js";
import { exitOnSignals } from "../exit-on-signals.js";
import { ApiCall } from "./api-call.js";
import { type ApiCommand, COMMON_FLAGS } from "./api-command.js";
import { parseArguments } from "./arguments.js";
import { reportFailure } from "./failure.js";
import { commandHelp } from "./help.js";
import { Interrupted } from "./interrupted.js";
import { refuseSecretArguments } from "./secret-arguments.js";

export async function runApiCommand(command: ApiCommand, args: readonly string[]): Promise<void> {
  const interrupt = new AbortController();
  const onInterrupt = () => interrupt.abort(new Interrupted());
  process.once("SIGINT", onInterrupt);
  using _signals = exitOnSignals(["SIGTERM", "SIGHUP"]);
  try {
    refuseSecretArguments(args);
    const given = parseArguments(command, args);
    if (given.flags.has("help")) {
      terminal().stdout.write(`${commandHelp(command, COMMON_FLAGS)}\n`);
      return;
    }
    await using call = new ApiCall(given, interrupt.signal);
    const run = await command.load();
    await run(call);
  } catch (error) {
    terminal().exitCode = reportFailure(error, {
      asJson: args.includes("--json"),
      color: !args.includes("--no-color"),
    });
  } finally {
    process.removeListener("SIGINT", onInterrupt);
  }
}
