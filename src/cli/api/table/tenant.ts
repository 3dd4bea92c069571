import { TIME_MEANING } from "../../time-argument.js";
import type { ApiCommand } from "../api-command.js";
import { LISTED } from "./flags.js";

export const TENANT_COMMANDS: readonly ApiCommand[] = [
  {
    name: "members list",
    summary: "List the members of the tenant",
    flags: LISTED,
    load: async () => (await import("../member-commands.js")).listMembers,
  },
  {
    name: "members update",
    summary: "Give a member another role",
    arguments: ["ID"],
    flags: { role: { kind: "text", value: "ROLE", meaning: "the role, such as ADMIN" } },
    load: async () => (await import("../member-commands.js")).updateMember,
  },
  {
    name: "members delete",
    summary: "Remove a member from the tenant",
    arguments: ["ID"],
    isDestructive: true,
    load: async () => (await import("../member-commands.js")).deleteMember,
  },
  {
    name: "logs list",
    summary: "List rows of the log, newest first",
    flags: {
      "entity-type": { kind: "text", value: "TYPE", meaning: "only rows about this type, such as token" },
      "entity-id": { kind: "text", value: "ID", meaning: "only rows about this entity" },
      since: { kind: "text", value: "TIME", meaning: `only rows of this time or later: ${TIME_MEANING}` },
      until: { kind: "text", value: "TIME", meaning: "only rows before this time" },
      actor: { kind: "text", value: "ID", meaning: "only what this application or member did" },
      "actor-type": { kind: "text", value: "TYPE", meaning: "application or user; with --since" },
      operation: { kind: "text", value: "NAME", meaning: "only this operation, such as read; with --since" },
      outcome: { kind: "text", value: "OUTCOME", meaning: "allowed, denied or failed" },
      transform: {
        kind: "text",
        value: "NAME",
        meaning: "how tokens were shown: reveal, mask or redact; with --since",
      },
      follow: {
        kind: "switch",
        meaning: "print rows as they are committed, until Ctrl-C, which prints the last cursor",
      },
      after: { kind: "text", value: "CURSOR", meaning: "with --follow: continue behind an earlier cursor" },
      ...LISTED,
    },
    examples: [
      "--entity-type token --limit 50",
      "--transform reveal --actor-type user --since 7d --all",
      "--follow --json",
    ],
    load: async () => (await import("../log-commands.js")).listLogs,
  },
];
