import "../base/async-disposable-stack.js";
import { runCommand } from "./run-command.js";

// A program that reads the output, such as head, may end first.
process.stdout.on("error", (error) => process.exit("code" in error && error.code === "EPIPE" ? 0 : 1));
await runCommand(process.argv.slice(2));
