import type { ApiCommand } from "../command.js";

export const SESSION_COMMANDS: readonly ApiCommand[] = [
  {
    name: "login",
    summary: "Save the address of a vault and a key as a profile",
    flags: {
      "with-key": { kind: "switch", meaning: "read the key from standard input" },
      "ca-file": { kind: "text", value: "FILE", meaning: "the certificate authority to trust, in PEM" },
    },
    examples: ["--url https://vault.example.com", "--url https://vault.example.com --with-key < key.txt"],
    load: async () => (await import("../session-commands.js")).login,
  },
  {
    name: "logout",
    summary: "Remove a profile with its key",
    load: async () => (await import("../session-commands.js")).logout,
  },
  {
    name: "whoami",
    summary: "Show which vault and application the key belongs to, and where address and key come from",
    load: async () => (await import("../session-commands.js")).whoami,
  },
];
