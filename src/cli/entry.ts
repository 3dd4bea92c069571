import "../base/async-disposable-stack.js";
import { runCommand } from "./run-command.js";

// A program that reads the output, such as head, may end first.
process.stdout.on("error", (error) => {
  const code = "code" in error ? String(error.code) : error.name;
  if (code === "EPIPE") process.exit(0);
  process.stderr.write(`Standard output cannot be written (${code}): the result is lost.\n`);
  process.exit(1);
});
// Messages that no program reads any more end no server, and no command half-way.
process.stderr.on("error", () => {});
await runCommand(process.argv.slice(2));
