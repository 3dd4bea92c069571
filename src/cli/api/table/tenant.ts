import type { Flags } from "../../command.js";
import { TIME_MEANING } from "../../time-argument.js";
import type { ApiCommand } from "../api-command.js";
import { LISTED } from "./flags.js";

/** Each field of a row is a filter. The vault refuses those without an index that have no time. */
const LOG_FILTERS: Flags = {
  "entity-type": { kind: "text", value: "TYPE", meaning: "only rows about this type, such as token" },
  "entity-id": { kind: "text", value: "ID", meaning: "only rows about this entity" },
  since: { kind: "text", value: "TIME", meaning: `only rows of this time or later: ${TIME_MEANING}` },
  until: { kind: "text", value: "TIME", meaning: "only rows before this time" },
  actor: { kind: "text", value: "ID", meaning: "only what this application or member did" },
  "actor-type": {
    kind: "text",
    value: "TYPE",
    meaning: "only what applications or members did; with --since",
    choices: ["application", "user"],
  },
  key: { kind: "text", value: "ID", meaning: "only requests with this key or session; with --since" },
  operation: { kind: "text", value: "NAME", meaning: "only this operation, such as read; with --since" },
  outcome: {
    kind: "text",
    value: "OUTCOME",
    meaning: "only requests that ended so; allowed goes with --since",
    choices: ["allowed", "denied", "failed"],
  },
  code: { kind: "text", value: "CODE", meaning: "only this error code; with --since or a refused outcome" },
  transform: {
    kind: "text",
    value: "NAME",
    meaning: "only tokens that were shown so; with --since",
    choices: ["reveal", "mask", "redact"],
  },
  via: { kind: "text", value: "ID", meaning: "only requests through this proxy or reactor; with --since" },
  "via-type": {
    kind: "text",
    value: "TYPE",
    meaning: "only requests through a proxy or a reactor; with --since",
    choices: ["proxy", "reactor"],
  },
  "destination-host": { kind: "text", value: "HOST", meaning: "only requests through a proxy to this host" },
  "source-ip": { kind: "text", value: "ADDRESS", meaning: "only from this address or network; with --since" },
  client: { kind: "text", value: "CLASS", meaning: "only this class of client, such as browser; with --since" },
  "has-reason": {
    kind: "text",
    value: "CHOICE",
    meaning: "only requests with a reason, or without; with --since",
    choices: ["yes", "no"],
  },
  "trace-id": { kind: "text", value: "ID", meaning: "only the request with this trace id; with --since" },
  id: { kind: "text", value: "ID", meaning: "only this row; with --since" },
};

export const TENANT_COMMANDS: readonly ApiCommand[] = [
  {
    name: "tenant get",
    summary: "Show the tenant and its settings",
    load: async () => (await import("../tenant-commands.js")).getTenant,
  },
  {
    name: "tenant update",
    summary: "Change the tenant's name or settings; a setting that is not given stays",
    flags: {
      name: { kind: "text", value: "NAME", meaning: "the name" },
      setting: { kind: "list", value: "NAME=VALUE", meaning: "a setting, true or false; may be repeated" },
    },
    examples: ["--setting require_reveal_reason=true"],
    load: async () => (await import("../tenant-commands.js")).updateTenant,
  },
  {
    name: "tenant usage",
    summary: "Count the tenant's tokens by type, and those that were active this month",
    load: async () => (await import("../tenant-commands.js")).showUsage,
  },
  {
    name: "logs list",
    summary: "List rows of the log, newest first",
    flags: {
      ...LOG_FILTERS,
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
      "--entity-type application --operation update --since 30d --json",
      "--follow --json",
    ],
    load: async () => (await import("../log-commands.js")).listLogs,
  },
];
