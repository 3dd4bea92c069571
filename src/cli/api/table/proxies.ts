import { type Flags, textFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { deleteCommand, getCommand } from "./entity-commands.js";
import { BODY, LISTED, NAMED } from "./flags.js";

const PROXY: Flags = {
  name: textFlag("NAME", "the name"),
  "destination-url": textFlag("URL", "where requests go"),
  ...BODY,
};

export const PROXY_COMMANDS: readonly ApiCommand[] = [
  {
    name: "proxies list",
    summary: "List proxies, newest first",
    flags: { ...NAMED, ...LISTED },
    load: async () => (await import("../proxy-commands.js")).listProxies,
  },
  getCommand("proxies get", "Show a proxy", "proxies"),
  {
    name: "proxies create",
    summary: "Create a proxy",
    flags: PROXY,
    examples: ["--name Partner --destination-url https://partner.example.com/charges", "--from proxy.json"],
    load: async () => (await import("../proxy-commands.js")).createProxy,
  },
  {
    name: "proxies update",
    summary: "Change a proxy",
    arguments: ["ID"],
    flags: PROXY,
    load: async () => (await import("../proxy-commands.js")).updateProxy,
  },
  deleteCommand({
    name: "proxies delete",
    summary: "Delete a proxy",
    part: "proxies",
    warning: "Proxy ID will be deleted.",
  }),
  {
    name: "proxies test",
    summary: "Run transforms that are not saved on a sample request",
    flags: BODY,
    examples: ["--from test.json"],
    load: async () => (await import("../proxy-commands.js")).testProxy,
  },
];
