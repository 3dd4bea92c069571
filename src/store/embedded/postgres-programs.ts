import { execFile } from "node:child_process";
import { join } from "node:path";
import { codeOf } from "../postgres/database-error.js";
import type { ServerAccount } from "./server-account.js";
import { childEnvironment } from "./server-settings.js";

/** PostgreSQL's programs, which run under the server's account. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
  readonly major: number;
}

/** Why the programs cannot be used, as part of a sentence. */
export interface Unusable {
  readonly problem: string;
  /** Files are missing or the account cannot reach them: a complete copy elsewhere may work. */
  readonly copyMayHelp: boolean;
}

/**
 * Runs `postgres --version` as the account. This shows whether it can be executed and finds its libraries, and its
 * version.
 */
export function probePrograms(bin: string, account: ServerAccount): Promise<PostgresPrograms | Unusable> {
  const [postgres, initdb] = [join(bin, "postgres"), join(bin, "initdb")];
  return new Promise((resolve) => {
    const options = { ...account.spawnAs, cwd: "/", env: childEnvironment(), timeout: 30_000 };
    execFile(postgres, ["--version"], options, (error, stdout, stderr) => {
      const major = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1];
      if (error || major === undefined) resolve(explain(error, stderr.trim().split("\n")[0] ?? "", account));
      else resolve({ postgres, initdb, major: Number(major) });
    });
  });
}

export function isUsable(outcome: PostgresPrograms | Unusable): outcome is PostgresPrograms {
  return "postgres" in outcome;
}

function explain(error: unknown, complaint: string, { label }: ServerAccount): Unusable {
  switch (codeOf(error)) {
    case "EACCES":
      return { problem: `${label} may not execute it`, copyMayHelp: true };
    case "ENOENT":
      // The file exists, but the loader that it names does not.
      return { problem: "it needs glibc, which this system (Alpine?) does not have", copyMayHelp: false };
    default:
      return {
        problem: complaint || `it does not run (${codeOf(error)})`,
        copyMayHelp: /shared librar|Library not loaded/.test(complaint),
      };
  }
}
