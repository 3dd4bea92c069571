import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { codeOf } from "../database-error.js";

/**
 * Whether the process with this pid is the PostgreSQL server of that data directory. A pid alone says nothing: after a
 * crash, and in a container after every restart, it may belong to any other process.
 */
export function isServerOf(pid: number, data: string): boolean {
  if (!isAlive(pid)) return false;
  const words = commandOf(pid);
  const [program = ""] = words;
  // Backends have overwritten their command line ("postgres: checkpointer"); only the server itself kept its own.
  if (!["postgres", "postmaster"].includes(basename(program))) return false;
  const named = words[words.indexOf("-D") + 1];
  return (words.includes("-D") && named !== undefined && samePath(named, data)) || worksIn(pid, data);
}

/** False for a zombie too: in containers whose first process never waits for children, orphans stay zombies for ever. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) !== "EPERM") return false;
  }
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^\) [ZX]/.test(status.slice(status.lastIndexOf(")")));
  } catch {
    // No /proc (macOS), or a process that only its owner may look at: signal 0 has answered.
    return true;
  }
}

function commandOf(pid: number): readonly string[] {
  if (process.platform === "linux") {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    } catch {
      return [];
    }
  }
  try {
    // macOS joins the words with spaces, which the directory may contain too: ours is followed by a setting.
    const command = execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" }).trim();
    const [program = "", directory = ""] = command.split(/ -D | -[ck] /, 2);
    return [program, "-D", directory];
  } catch {
    return [];
  }
}

/** A server's working directory is its data directory, however that was named. */
function worksIn(pid: number, data: string): boolean {
  try {
    const [there, here] = [statSync(`/proc/${pid}/cwd`), statSync(data)];
    return there.dev === here.dev && there.ino === here.ino;
  } catch {
    return false;
  }
}

function samePath(named: string, data: string): boolean {
  try {
    return realpathSync(named) === realpathSync(data);
  } catch {
    return false;
  }
}
