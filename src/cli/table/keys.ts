import type { OperatorCommand } from "../operator-command.js";

export const KEY_COMMANDS: readonly OperatorCommand[] = [
  {
    name: "keys list",
    summary: "List root keys and tenants' keys: ids, purposes, versions, states, and rows left under replaced ones",
    flags: {
      tenant: { kind: "text", value: "ID", meaning: "only the keys of this tenant" },
    },
    load: async () => (await import("../keys-list.js")).keysList,
  },
  {
    name: "keys rotate",
    summary: "Replace the root key, or the keys that seal tenants' values, while servers run",
    flags: {
      root: { kind: "switch", meaning: "the root key: wraps the keys of all tenants again" },
      tenant: { kind: "text", value: "ID", meaning: "the keys of one tenant: reseals all of its values" },
      all: { kind: "switch", meaning: "the keys of all tenants" },
      "retire-after": {
        kind: "text",
        value: "S",
        meaning: "least time in seconds for which replaced keys of tenants are kept (120)",
      },
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
      shares: { kind: "text", value: "N", meaning: "number of shares" },
      threshold: { kind: "text", value: "M", meaning: "number of shares that restore the key" },
      out: {
        kind: "text",
        value: "DIR",
        meaning: "write each share into a file of its own there instead of printing it once",
      },
    },
    load: async () => (await import("../keys-split.js")).keysSplit,
  },
  {
    name: "keys unseal",
    summary: "Hand shares of the root key to a server on this machine that waits for them",
    flags: {
      file: {
        kind: "text",
        value: "F",
        meaning: "read shares from this file; otherwise from standard input, one per line",
      },
    },
    notes: ["Shares are never arguments: all users of a machine see those, and shells record them."],
    load: async () => (await import("../keys-unseal.js")).keysUnseal,
  },
];
