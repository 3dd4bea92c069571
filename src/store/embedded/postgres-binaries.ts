import { execFile } from "node:child_process";
import { join } from "node:path";
import { codeOf } from "../database-error.js";
import type { ServerAccount } from "./server-account.js";

/** A PostgreSQL that was tried and runs under the server's account. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly major: number;
}

/** Why a PostgreSQL cannot be used: the reason as part of a sentence. */
export interface Unusable {
  readonly problem: string;
  /** Files are missing or out of reach for the account: a complete copy elsewhere may work. */
  readonly copyMayHelp: boolean;
}

/** The majors that Cloakroom's SQL runs on, the preferred one first. */
export const SUPPORTED_MAJORS = [18, 17, 16, 15] as const;

/**
 * What children of the supervisor inherit: no setting of ours, some of which are secret, and no locale (an `LANG` without
 * that locale fails, an unset one makes SQL_ASCII). The loader's settings stay: some systems find libraries or, through
 * nss_wrapper, their passwd entry by them.
 */
export function childEnvironment(): NodeJS.ProcessEnv {
  const kept = [
    "PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NSS_WRAPPER_PASSWD",
    "NSS_WRAPPER_GROUP",
    "DYLD_LIBRARY_PATH",
  ];
  return {
    LC_ALL: "C",
    ...Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  };
}

/**
 * Runs `postgres --version` as the account, which shows all at once: that it may execute the file, that the loader and the
 * libraries are there, and which version it is.
 */
export async function tryBinaries(bin: string, account: ServerAccount): Promise<PostgresBinaries | Unusable> {
  const postgres = join(bin, "postgres");
  const initdb = join(bin, "initdb");
  const major = await versionOf(postgres, account);
  if (typeof major !== "number") return major;
  const initdbMajor = await versionOf(initdb, account);
  return typeof initdbMajor === "number" ? { postgres, initdb, major } : initdbMajor;
}

export function isUsable(outcome: PostgresBinaries | Unusable): outcome is PostgresBinaries {
  return "postgres" in outcome;
}

function versionOf(program: string, account: ServerAccount): Promise<number | Unusable> {
  return new Promise((resolve) => {
    const options = { ...account.spawnAs, cwd: "/", env: childEnvironment(), timeout: 30_000 };
    const child = execFile(program, ["--version"], options, (error, stdout, stderr) => {
      const major = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1];
      resolve(error || major === undefined ? explain(error, stderr, account) : Number(major));
    });
    child.stdin?.end();
  });
}

function explain(error: unknown, stderr: string, account: ServerAccount): Unusable {
  const complaint = stderr.trim().split("\n")[0] ?? "";
  switch (codeOf(error)) {
    case "EACCES":
      return { problem: `${account.label} may not execute it`, copyMayHelp: true };
    case "ENOENT":
      // The callers know that the file exists; what is missing is the loader that it names.
      return { problem: "it needs glibc, which this system (Alpine?) does not have", copyMayHelp: false };
    default:
      return {
        problem: complaint || `it does not run (${codeOf(error)})`,
        copyMayHelp: /shared librar|Library not loaded/.test(complaint),
      };
  }
}
