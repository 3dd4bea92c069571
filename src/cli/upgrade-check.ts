import { terminal } from "../base/terminal.js";
import { checkUpgrade, mayUpgrade } from "../vault/check-upgrade.js";
import type { CommandInput } from "./operator-command.js";
import { printable } from "./printable.js";

export async function upgradeCheck({ config, options, say, printResult }: CommandInput): Promise<void> {
  const lines = await checkUpgrade(config, say);
  const ready = mayUpgrade(lines);
  if (!ready) terminal().exitCode = 1;
  if (options.json === true) return printResult({ ready, checks: lines });
  for (const { check, result, says } of lines) {
    const text = says.split("\n").map(printable).join("\n  ");
    terminal().stdout.write(`${result.padEnd(9)}  ${check}: ${text}\n`);
  }
}
