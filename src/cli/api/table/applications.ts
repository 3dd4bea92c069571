import { type Flags, listFlag, textFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { deleteCommand, getCommand } from "./entity-commands.js";
import { BODY, LISTED } from "./flags.js";

const APPLICATION_TYPES = ["private", "public", "management"];

const APPLICATION: Flags = {
  name: textFlag("NAME", "the name"),
  permission: listFlag("PERMISSION", "a permission, such as token:read; may be repeated"),
  origin: listFlag("ORIGIN", "an allowed origin of hosted fields; may be repeated"),
  templates: textFlag("REFERENCE", "the templates of hosted fields, a JSON list: @FILE, or - for standard input"),
  "allow-page-requests": textFlag(
    "CHOICE",
    "whether pages may call the API with the key themselves, which shows them more than hosted fields do",
    ["yes", "no"],
  ),
  ...BODY,
};

export const APPLICATION_COMMANDS: readonly ApiCommand[] = [
  {
    name: "apps list",
    summary: "List applications, newest first",
    flags: {
      type: listFlag("TYPE", "only this type; may be repeated", APPLICATION_TYPES),
      name: textFlag("NAME", "only with this in their names; * matches any text"),
      ...LISTED,
    },
    load: async () => (await import("../application-commands.js")).listApplications,
  },
  getCommand("apps get", "Show an application", "applications"),
  {
    name: "apps create",
    summary: "Create an application and show its key, once",
    flags: {
      type: textFlag("TYPE", "the type", APPLICATION_TYPES),
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
      name: textFlag("NAME", "a name for people"),
      owner: textFlag("OWNER", "the person, team or system that answers for it"),
      "expires-at": textFlag("TIME", "when it ends, in ISO 8601"),
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
