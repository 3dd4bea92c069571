import { switchFlag, textFlag } from "../command.js";
import type { OperatorCommand } from "../operator-command.js";

export const KEY_COMMANDS: readonly OperatorCommand[] = [
  {
    name: "keys list",
    summary: "List root keys and tenants' keys: ids, purposes, versions, states, and rows left under replaced ones",
    flags: { tenant: textFlag("ID", "only the keys of this tenant") },
    load: async () => (await import("../keys-list.js")).keysList,
  },
  {
    name: "keys rotate",
    summary: "Replace the root key, or the keys that seal tenants' values, while servers run",
    flags: {
      root: switchFlag("the root key: wraps the keys of all tenants again"),
      tenant: textFlag("ID", "the keys of one tenant: reseals all of its values"),
      all: switchFlag("the keys of all tenants"),
      "retire-after": textFlag("S", "least time in seconds for which replaced keys of tenants are kept (120)"),
    },
    notes: [
      "Run an interrupted command again to continue. Keys of fingerprints, search terms, cursors and the log stay.",
    ],
    load: async () => (await import("../keys-rotate.js")).keysRotate,
  },
  {
    name: "keys split",
    summary: "Split the root key into shares for several people, some of whom together can restore it",
    flags: {
      shares: textFlag("N", "number of shares"),
      threshold: textFlag("M", "number of shares that restore the key"),
      out: textFlag("DIR", "write each share into a file of its own there instead of printing it once"),
    },
    load: async () => (await import("../keys-split.js")).keysSplit,
  },
  {
    name: "keys unseal",
    summary: "Hand shares of the root key to a server on this machine that waits for them",
    flags: { file: textFlag("F", "read shares from this file; otherwise from standard input, one per line") },
    notes: ["Shares are never arguments: all users of a machine see those, and shells record them."],
    load: async () => (await import("../keys-unseal.js")).keysUnseal,
  },
];
