import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../database-error.js";
import type { ServerAccount } from "./server-account.js";

/**
 * The topmost directory on the way to `path`, itself not counted, that the account may not pass. Judged by the mode bits,
 * since a process cannot ask on behalf of another uid; parts that do not exist yet are no barrier. `spawn` drops
 * supplementary groups, so that the primary group is the only one.
 */
export async function barrierBefore(path: string, account: ServerAccount): Promise<string | undefined> {
  for (const directory of ancestors(path)) {
    if (!(await mayEnter(directory, account))) return directory;
  }
  return undefined;
}

/** Whether the account may pass this one directory; true when it does not exist. */
export async function mayEnter(directory: string, account: ServerAccount): Promise<boolean> {
  try {
    const { mode, uid, gid } = await stat(directory);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    return (mode & bit) !== 0;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true;
    throw error;
  }
}

function ancestors(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [...ancestors(above), above];
}
