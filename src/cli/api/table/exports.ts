import { textFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { LISTED } from "./flags.js";

export const EXPORT_COMMANDS: readonly ApiCommand[] = [
  {
    name: "exports list",
    summary: "List exports that wait for approval or are approved",
    flags: LISTED,
    load: async () => (await import("../export-approval-commands.js")).listTokenExports,
  },
  {
    name: "exports request",
    summary: "Ask another OWNER or ADMIN to let an application export tokens",
    flags: {
      application: textFlag("ID", "the application that exports"),
      container: textFlag("PATH", "only this container"),
      type: textFlag("TYPE", "only this type, such as card"),
      reason: textFlag("TEXT", "why, for the person who approves"),
    },
    examples: ["--application ID --container /pci/ --reason 'moving out'"],
    load: async () => (await import("../export-approval-commands.js")).requestTokenExport,
  },
  {
    name: "exports approve",
    summary: "Approve the request of another person, for one hour",
    arguments: ["ID"],
    load: async () => (await import("../export-approval-commands.js")).approveTokenExport,
  },
  {
    name: "exports delete",
    summary: "Refuse or withdraw a request, or end an approval",
    arguments: ["ID"],
    load: async () => (await import("../export-approval-commands.js")).deleteTokenExport,
  },
];
