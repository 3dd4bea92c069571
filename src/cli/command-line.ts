import { KeyFileError } from "../crypto/key-file.js";
import { RootKeyDenied, RootKeyUnreachable } from "../crypto/root-key.js";
import { ShareError } from "../crypto/shares.js";
import { ProcessStartError } from "../processes/start-error.js";
import { ConfigError } from "../settings/environment.js";
import { EmbeddedDatabaseError } from "../store/embedded/embedded-database.js";
import { DatabaseSetupError } from "../store/roles.js";
import { ExportFileError } from "../store/vault-copy/format.js";
import { type Commands, UsageError } from "./command.js";
import { runCommand } from "./run-command.js";

/** Loaded when they are called: the server alone takes half a second, most of what a command takes. */
const COMMANDS: Commands = new Map([
  ["serve", async () => (await import("./serve.js")).serve],
  ["init", async () => (await import("./init.js")).init],
  ["migrate", async () => (await import("./migrate.js")).migrate],
  ["tenants create", async () => (await import("./tenants-create.js")).tenantsCreate],
  ["tenants list", async () => (await import("./tenants-list.js")).tenantsList],
  ["tenants update", async () => (await import("./tenants-update.js")).tenantsUpdate],
  ["members sign-in-link", async () => (await import("./members-sign-in-link.js")).membersSignInLink],
  ["formulas import", async () => (await import("./formulas-import.js")).formulasImport],
  ["keys list", async () => (await import("./keys-list.js")).keysList],
  ["keys rotate", async () => (await import("./keys-rotate.js")).keysRotate],
  ["keys split", async () => (await import("./keys-split.js")).keysSplit],
  ["keys unseal", async () => (await import("./keys-unseal.js")).keysUnseal],
  ["audit verify", async () => (await import("./audit-verify.js")).auditVerify],
  ["audit export", async () => (await import("./audit-export.js")).auditExport],
  ["audit key", async () => (await import("./audit-key.js")).auditKey],
  ["audit restart", async () => (await import("./audit-restart.js")).auditRestart],
  ["audit who-read", async () => (await import("./audit-who-read.js")).auditWhoRead],
  ["audit what-did", async () => (await import("./audit-what-did.js")).auditWhatDid],
  ["audit denied", async () => (await import("./audit-denied.js")).auditDenied],
  ["audit operations", async () => (await import("./audit-operations.js")).auditOperations],
  ["audit reopen", async () => (await import("./audit-reopen.js")).auditReopen],
  ["export", async () => (await import("./export.js")).exportCommand],
  ["import", async () => (await import("./import.js")).importCommand],
  ["cluster distribute", async () => (await import("./cluster-distribute.js")).clusterDistribute],
  ["doctor", async () => (await import("./doctor.js")).doctor],
]);

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
  ProcessStartError,
];

/** A full disk, by the system's word for it and by PostgreSQL's. */
const DISK_FULL = ["ENOSPC", "EDQUOT", "53100"];

try {
  await runCommand(COMMANDS, process.argv.slice(2));
} catch (error) {
  const isForOperators = FOR_OPERATORS.some((kind) => error instanceof kind);
  process.stderr.write(`${isForOperators && error instanceof Error ? error.message : describe(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

/** Anything else: its class, code and place. Messages of libraries may hold what must not be printed. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return "Something failed.";
  const code = "code" in error ? ` (${String(error.code)})` : "";
  if ("code" in error && DISK_FULL.includes(String(error.code))) {
    return `No space is left on a disk${code}. Make room on those of CLOAKROOM_DATA_DIR and the database, then run this again.`;
  }
  const frames = error.stack?.split("\n").filter((line) => line.trimStart().startsWith("at ")) ?? [];
  return [`${error.name}${code}: the command failed. Run: cloakroom doctor`, ...frames].join("\n");
}
