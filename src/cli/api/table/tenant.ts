import { type Flags, listFlag, switchFlag, textFlag } from "../../command.js";
import { TIME_MEANING } from "../../time-argument.js";
import type { ApiCommand } from "../api-command.js";
import { LISTED } from "./flags.js";

/** Each field of a row is a filter. The vault refuses those without an index that have no time. */
const LOG_FILTERS: Flags = {
  "entity-type": textFlag("TYPE", "only rows about this type, such as token"),
  "entity-id": textFlag("ID", "only rows about this entity"),
  since: textFlag("TIME", `only rows of this time or later: ${TIME_MEANING}`),
  until: textFlag("TIME", "only rows before this time"),
  actor: textFlag("ID", "only what this application or member did"),
  "actor-type": textFlag("TYPE", "only what applications or members did; with --since", ["application", "user"]),
  key: textFlag("ID", "only requests with this key or session; with --since"),
  operation: textFlag("NAME", "only this operation, such as read; with --since"),
  outcome: textFlag("OUTCOME", "only requests that ended so; allowed goes with --since", [
    "allowed",
    "denied",
    "failed",
  ]),
  code: textFlag("CODE", "only this error code; with --since or a refused outcome"),
  transform: textFlag("NAME", "only tokens that were shown so; with --since", ["reveal", "mask", "redact"]),
  via: textFlag("ID", "only requests through this proxy or reactor; with --since"),
  "via-type": textFlag("TYPE", "only requests through a proxy or a reactor; with --since", ["proxy", "reactor"]),
  "destination-host": textFlag("HOST", "only requests through a proxy to this host"),
  "source-ip": textFlag("ADDRESS", "only from this address or network; with --since"),
  client: textFlag("CLASS", "only this class of client, such as browser; with --since"),
  "has-reason": textFlag("CHOICE", "only requests with a reason, or without; with --since", ["yes", "no"]),
  "trace-id": textFlag("ID", "only the request with this trace id; with --since"),
  id: textFlag("ID", "only this row; with --since"),
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
      name: textFlag("NAME", "the name"),
      setting: listFlag("NAME=VALUE", "a setting, true or false; may be repeated"),
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
      follow: switchFlag("print rows as they are committed, until Ctrl-C, which prints the last cursor"),
      after: textFlag("CURSOR", "with --follow: continue behind an earlier cursor"),
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
