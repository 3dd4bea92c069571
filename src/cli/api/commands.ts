import type { ApiCommand } from "./api-command.js";
import { ACCESS_COMMANDS } from "./table/access.js";
import { APPLICATION_COMMANDS } from "./table/applications.js";
import { BROWSER_SESSION_COMMANDS } from "./table/browser-sessions.js";
import { EXPORT_COMMANDS } from "./table/exports.js";
import { PAYMENT_COMMANDS } from "./table/payments.js";
import { PEOPLE_COMMANDS } from "./table/people.js";
import { PROXY_COMMANDS } from "./table/proxies.js";
import { REACTOR_COMMANDS } from "./table/reactors.js";
import { SESSION_COMMANDS } from "./table/session.js";
import { TENANT_COMMANDS } from "./table/tenant.js";
import { TOKEN_COMMANDS } from "./table/tokens.js";

export const API_COMMANDS: readonly ApiCommand[] = [
  ...SESSION_COMMANDS,
  ...TOKEN_COMMANDS,
  ...EXPORT_COMMANDS,
  ...APPLICATION_COMMANDS,
  ...ACCESS_COMMANDS,
  ...PROXY_COMMANDS,
  ...REACTOR_COMMANDS,
  ...BROWSER_SESSION_COMMANDS,
  ...PAYMENT_COMMANDS,
  ...PEOPLE_COMMANDS,
  ...TENANT_COMMANDS,
];
