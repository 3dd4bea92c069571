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
      application: { kind: "text", value: "ID", meaning: "the application that exports" },
      container: { kind: "text", value: "PATH", meaning: "only this container" },
      type: { kind: "text", value: "TYPE", meaning: "only this type, such as card" },
      reason: { kind: "text", value: "TEXT", meaning: "why, for the person who approves" },
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
