import { switchFlag, textFlag } from "../command.js";
import type { OperatorCommand } from "../operator-command.js";

export const TENANT_COMMANDS: readonly OperatorCommand[] = [
  {
    name: "tenants create",
    summary: "Create a tenant with its owner and a management application, and show the management key once",
    flags: {
      name: textFlag("N", "name of the tenant"),
      "owner-email": textFlag("E", "e-mail address of its owner"),
    },
    load: async () => (await import("../tenants.js")).tenantsCreate,
  },
  {
    name: "tenants list",
    summary: "List all tenants",
    load: async () => (await import("../tenants.js")).tenantsList,
  },
  {
    name: "tenants update",
    summary: "Change what a tenant's plan includes, or let its exports go on without approval",
    flags: {
      id: textFlag("ID", "the tenant"),
      "included-monthly-active-tokens": textFlag("N", "a number, or default for none"),
      "stop-export-approval": switchFlag("switch the setting require_export_approval off, which no member may"),
    },
    load: async () => (await import("../tenants.js")).tenantsUpdate,
  },
  {
    name: "members sign-in-link",
    summary: "Show a link by which a member signs in once, within 10 minutes, in any browser",
    flags: {
      email: textFlag("E", "address of the member"),
      tenant: textFlag("T", "the member's tenant. Default: the only one"),
      "reset-passkeys": switchFlag(
        "remove the member's passkeys first, which were lost, and end the member's sign-ins",
      ),
    },
    load: async () => (await import("../members-sign-in-link.js")).membersSignInLink,
  },
  {
    name: "formulas import",
    summary: "Publish official reactor formulas to all tenants, replacing earlier ones with the same ids",
    flags: { file: textFlag("F", "a formula as POST /reactor-formulas takes it, or an array of them; id is required") },
    load: async () => (await import("../formulas-import.js")).formulasImport,
  },
];
