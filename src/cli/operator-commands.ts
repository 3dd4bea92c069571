import type { OperatorCommand } from "./operator-command.js";
import { AUDIT_COMMANDS } from "./table/audit.js";
import { COPY_COMMANDS } from "./table/copies.js";
import { KEY_COMMANDS } from "./table/keys.js";
import { SERVER_COMMANDS } from "./table/server.js";
import { TENANT_COMMANDS } from "./table/tenants.js";

export const OPERATOR_COMMANDS: readonly OperatorCommand[] = [
  ...SERVER_COMMANDS,
  ...TENANT_COMMANDS,
  ...KEY_COMMANDS,
  ...AUDIT_COMMANDS,
  ...COPY_COMMANDS,
];
