import { BackupError } from "../backups/backup-error.js";
import { terminal } from "../base/terminal.js";
import { KeyFileError } from "../crypto/key-file.js";
import { RootKeyDenied, RootKeyUnreachable } from "../crypto/root-key.js";
import { ShareError } from "../crypto/shares.js";
import { ProcessStartError } from "../processes/start-error.js";
import { ConfigError } from "../settings/config-error.js";
import { EmbeddedDatabaseError } from "../store/embedded/embedded-database.js";
import { DatabaseSetupError } from "../store/postgres/roles.js";
import { ExportFileError } from "../store/vault-copy/format.js";
import type { OperatorCommand } from "./operator-command.js";
import { printableLines } from "./printable.js";
import { runOperatorCommand } from "./run-operator-command.js";
import { UsageError } from "./usage-error.js";

/** Errors whose message is written for the operator. */
const FOR_OPERATORS = [
  UsageError,
  ConfigError,
  KeyFileError,
  RootKeyDenied,
  RootKeyUnreachable,
  ShareError,
  EmbeddedDatabaseError,
  DatabaseSetupError,
  ExportFileError,
  BackupError,
  ProcessStartError,
];

/** A full disk, by the system's word for it and by PostgreSQL's. */
const DISK_FULL = ["ENOSPC", "EDQUOT", "53100"];

/** A connection that ended half-way, by the client's word for it, the system's and PostgreSQL's. */
const CONNECTION_LOST = /^(?:CONNECTION_[A-Z]+|ECONNRESET|EPIPE|08[0-9A-Z]{3}|57P0[1-3])$/;

/** Runs a command for operators, and says what they can do about an error. */
export async function runForOperator(command: OperatorCommand, args: readonly string[]): Promise<void> {
  try {
    await runOperatorCommand(command, args);
  } catch (error) {
    const isForOperators = FOR_OPERATORS.some((kind) => error instanceof kind);
    const message = isForOperators && error instanceof Error ? error.message : describe(error);
    // Messages name what is in files and databases that others can write.
    terminal().stderr.write(`${printableLines(message)}\n`);
    terminal().exitCode = error instanceof UsageError ? 2 : 1;
  }
}

/** Anything else: its class, code and place. Messages of libraries may hold what must not be printed. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return "Something failed.";
  const code = "code" in error ? ` (${String(error.code)})` : "";
  if ("code" in error && DISK_FULL.includes(String(error.code))) {
    return `No space is left on a disk${code}. Make room on those of CLOAKROOM_DATA_DIR and the database, then run this again.`;
  }
  if ("code" in error && CONNECTION_LOST.test(String(error.code))) {
    return `The connection to the database was lost${code}. Once cloakroom doctor finds the database again, run this again.`;
  }
  const frames = error.stack?.split("\n").filter((line) => line.trimStart().startsWith("at ")) ?? [];
  return [`${error.name}${code}: the command failed. Run: cloakroom doctor`, ...frames].join("\n");
}
