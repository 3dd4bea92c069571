import { switchFlag, textFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";

export const SESSION_COMMANDS: readonly ApiCommand[] = [
  {
    name: "login",
    summary: "Save the address of a vault as a profile, with a key or with your own sign-in",
    flags: {
      device: switchFlag("sign in as yourself, at the issuer of the vault, with a code"),
      tenant: textFlag("ID", "with --device: the tenant, if the vault has several"),
      "with-key": switchFlag("read the key from standard input"),
      "ca-file": textFlag("FILE", "the certificate authority to trust, in PEM"),
    },
    examples: [
      "--url https://vault.example.com",
      "--url https://vault.example.com --with-key < key.txt",
      "--url https://vault.example.com --device",
    ],
    load: async () => (await import("../session-commands.js")).login,
  },
  {
    name: "logout",
    summary: "Remove a profile with its key, or end its sign-in",
    load: async () => (await import("../session-commands.js")).logout,
  },
  {
    name: "whoami",
    summary: "Show who you are at which vault, and where address and key come from",
    load: async () => (await import("../session-commands.js")).whoami,
  },
  {
    name: "version",
    summary: "Show the version of this command, and with --server that of the vault beside it",
    flags: { server: switchFlag("ask the vault for its version too, and warn if they differ") },
    examples: ["--server", "--server --json"],
    load: async () => (await import("../version-command.js")).version,
  },
];
