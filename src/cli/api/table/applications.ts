import type { Flags } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { deleteCommand, getCommand } from "./entity-commands.js";
import { BODY, LISTED } from "./flags.js";

const APPLICATION_TYPES = ["private", "public", "management"];

const APPLICATION: Flags = {
  name: { kind: "text", value: "NAME", meaning: "the name" },
  permission: { kind: "list", value: "PERMISSION", meaning: "a permission, such as token:read; may be repeated" },
  origin: { kind: "list", value: "ORIGIN", meaning: "an allowed origin of hosted fields; may be repeated" },
  templates: {
    kind: "text",
    value: "REFERENCE",
    meaning: "the templates of hosted fields, a JSON list: @FILE, or - for standard input",
  },
  "allow-page-requests": {
    kind: "text",
    value: "CHOICE",
    meaning: "whether pages may call the API with the key themselves, which shows them more than hosted fields do",
    choices: ["yes", "no"],
  },
  ...BODY,
};

export const APPLICATION_COMMANDS: readonly ApiCommand[] = [
  {
    name: "apps list",
    summary: "List applications, newest first",
    flags: {
      type: { kind: "list", value: "TYPE", meaning: "only this type; may be repeated", choices: APPLICATION_TYPES },
      name: { kind: "text", value: "NAME", meaning: "only with this in their names; * matches any text" },
      ...LISTED,
    },
    load: async () => (await import("../application-commands.js")).listApplications,
  },
  getCommand("apps get", "Show an application", "applications"),
  {
    name: "apps create",
    summary: "Create an application and show its key, once",
    flags: {
      type: { kind: "text", value: "TYPE", meaning: "the type", choices: APPLICATION_TYPES },
      ...APPLICATION,
    },
    examples: ["--name Shop --type public --permission token:create", "--from application.json"],
    load: async () => (await import("../application-commands.js")).createApplication,
  },
  {
    name: "apps update",
    summary: "Replace an application's name, permissions and rules",
    arguments: ["ID"],
    flags: APPLICATION,
    load: async () => (await import("../application-commands.js")).updateApplication,
  },
  deleteCommand({
    name: "apps delete",
    summary: "Delete an application; its keys stop working at once",
    part: "applications",
    warning: "Application ID will be deleted, and its keys stop working at once.",
  }),
  {
    name: "app-keys list",
    summary: "List the keys of an application, without their values",
    arguments: ["APPLICATION"],
    flags: LISTED,
    load: async () => (await import("../application-commands.js")).listKeys,
  },
  {
    name: "app-keys get",
    summary: "Show a key, without its value",
    arguments: ["APPLICATION", "KEY"],
    load: async () => (await import("../application-commands.js")).getKey,
  },
  {
    name: "app-keys create",
    summary: "Create a key and show it, once",
    arguments: ["APPLICATION"],
    flags: {
      name: { kind: "text", value: "NAME", meaning: "a name for people" },
      owner: { kind: "text", value: "OWNER", meaning: "the person, team or system that answers for it" },
      "expires-at": { kind: "text", value: "TIME", meaning: "when it ends, in ISO 8601" },
    },
    load: async () => (await import("../application-commands.js")).createKey,
  },
  {
    name: "app-keys delete",
    summary: "Delete a key; it stops working at once",
    arguments: ["APPLICATION", "KEY"],
    isDestructive: true,
    load: async () => (await import("../application-commands.js")).deleteKey,
  },
];
