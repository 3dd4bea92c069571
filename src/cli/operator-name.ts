import { hostname, userInfo } from "node:os";

/** The account of the operating system that runs a command, and the machine, for the vault's own log. */
export function operatorName(): string {
  return `by ${accountName()} on ${hostname()}`;
}

function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return `account ${process.getuid?.() ?? "unknown"}`;
  }
}
