import { auditExport } from "./cli/audit-export.js";
import { auditVerify } from "./cli/audit-verify.js";
import { UsageError } from "./cli/command.js";
import { doctor } from "./cli/doctor.js";
import { exportCommand } from "./cli/export.js";
import { formulasImport } from "./cli/formulas-import.js";
import { importCommand } from "./cli/import.js";
import { init } from "./cli/init.js";
import { keysList } from "./cli/keys-list.js";
import { keysRotate } from "./cli/keys-rotate.js";
import { keysSplit } from "./cli/keys-split.js";
import { keysUnseal } from "./cli/keys-unseal.js";
import { migrate } from "./cli/migrate.js";
import { runCommand } from "./cli/run-command.js";
import { serve } from "./cli/serve.js";
import { tenantsCreate } from "./cli/tenants-create.js";
import { tenantsList } from "./cli/tenants-list.js";
import { tenantsUpdate } from "./cli/tenants-update.js";
import { KeyFileError } from "./crypto/key-file.js";
import { RootKeyDenied, RootKeyUnreachable } from "./crypto/root-key.js";
import { ShareError } from "./crypto/shares.js";
import { ConfigError } from "./settings/environment.js";
import { EmbeddedDatabaseError } from "./store/embedded/embedded-database.js";
import { DatabaseSetupError } from "./store/roles.js";
import { ExportFileError } from "./store/vault-copy/format.js";

const COMMANDS = [
  serve,
  init,
  migrate,
  tenantsCreate,
  tenantsList,
  tenantsUpdate,
  formulasImport,
  keysList,
  keysRotate,
  keysSplit,
  keysUnseal,
  auditVerify,
  auditExport,
  exportCommand,
  importCommand,
  doctor,
];

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
];

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
  const frames = error.stack?.split("\n").filter((line) => line.trimStart().startsWith("at ")) ?? [];
  return [`${error.name}${code}: the command failed. Run: cloakroom doctor`, ...frames].join("\n");
}
