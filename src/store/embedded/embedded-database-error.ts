import { databaseErrorCode } from "../postgres/database-error.js";

/** Keeps the embedded database from running. The message is for the operator: what is wrong, and what to do next. */
export class EmbeddedDatabaseError extends Error {
  override readonly name = "EmbeddedDatabaseError";
}

/** What the operator can do about a directory that does not work. */
export const REMEDY =
  "Put this right, or name another directory in CLOAKROOM_DATA_DIR, or a PostgreSQL in DATABASE_URL.";

const REASONS: Readonly<Record<string, string>> = {
  EACCES: `permission denied to uid ${process.geteuid?.()}`,
  EPERM: `permission denied to uid ${process.geteuid?.()}`,
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left on the device",
  EDQUOT: "the disk quota is used up",
  EEXIST: "a file exists where a directory is needed",
  ENOTDIR: "a file exists where a directory is needed",
  ENAMETOOLONG: "a name on its path is too long",
  ELOOP: "a symbolic link is not allowed here",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
  EIO: "the device reports an input or output error",
};

/** A failed file operation on the data directory, in words; every other error as it is. */
export function toOperatorError(error: unknown, dataDir: string): unknown {
  if (!(error instanceof Error)) return error;
  const code = databaseErrorCode(error);
  const path = "dest" in error ? error.dest : "path" in error ? error.path : undefined;
  // A write names no path: the file was open by then.
  const target = path ?? (["ENOSPC", "EDQUOT", "EIO"].includes(code) ? dataDir : undefined);
  if (REASONS[code] === undefined || typeof target !== "string") return error;
  return new EmbeddedDatabaseError(`The embedded database cannot use ${target}: ${REASONS[code]}.\n${REMEDY}`, {
    cause: error,
  });
}
