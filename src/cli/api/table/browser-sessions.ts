import { listFlag, switchFlag, textFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { deleteCommand } from "./entity-commands.js";
import { BODY, LISTED } from "./flags.js";

export const BROWSER_SESSION_COMMANDS: readonly ApiCommand[] = [
  {
    name: "sessions create",
    summary: "Create a session for a browser and show its key, once; needs the key of a public application",
    load: async () => (await import("../browser-session-commands.js")).createSession,
  },
  {
    name: "sessions authorize",
    summary: "Give a session permissions or rules, once; needs the key of a private application that has them",
    arguments: ["NONCE"],
    flags: {
      permission: listFlag("PERMISSION", "a permission, such as token:create; may be repeated"),
      "expires-at": textFlag("TIME", "when it ends, in ISO 8601; default: after three minutes"),
      "frame-required": switchFlag("refuse a session that no hosted field created"),
      ...BODY,
    },
    notes: ["NONCE came with the session; - reads it from standard input. Rules go into the file of --from."],
    examples: ["- --permission token:create < nonce.txt", "NONCE --from rights.json"],
    load: async () => (await import("../browser-session-commands.js")).authorizeSession,
  },
  {
    name: "sessions list",
    summary: "List the sessions that have not ended, newest first, without their keys and nonces",
    flags: {
      application: listFlag("ID", "only those that this application made; may be repeated"),
      ...LISTED,
    },
    load: async () => (await import("../browser-session-commands.js")).listSessions,
  },
  deleteCommand({
    name: "sessions end",
    summary: "End a session; its key stops working at once",
    part: "sessions",
    warning: "Session ID will end, and its key stops working at once.",
  }),
];
