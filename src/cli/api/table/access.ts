import { listFlag, textFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";

export const ACCESS_COMMANDS: readonly ApiCommand[] = [
  {
    name: "access explain",
    summary: "Say what an application may do with a token, rule by rule; - reads one of its keys from standard input",
    arguments: ["APPLICATION", "[TOKEN]"],
    flags: {
      container: listFlag("PATH", "in place of a token: its container; may be repeated"),
      permission: textFlag("PERMISSION", "the permission; default: token:read"),
    },
    examples: ["APPLICATION TOKEN", "- --container /pci/ --permission token:use < key.txt"],
    load: async () => (await import("../access-commands.js")).explainAccess,
  },
];
