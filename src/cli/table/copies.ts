import { textFlag } from "../command.js";
import type { OperatorCommand } from "../operator-command.js";

const PLACE = "a directory, or s3://BUCKET/PREFIX with the settings CLOAKROOM_S3_...";

export const COPY_COMMANDS: readonly OperatorCommand[] = [
  {
    name: "backup",
    summary: "Take a backup of all stored data, as of one moment, beside a running server; values stay encrypted",
    flags: {
      to: textFlag("PLACE", PLACE),
      keep: textFlag("N", "remove older backups of this vault, except the newest N"),
      "keep-days": textFlag("N", "remove older backups of this vault, except those of N days"),
    },
    notes: [
      "With both, a backup stays if either keeps it. Without either, all stay.",
      "The root key is in no backup: keep it elsewhere. Without it a backup is useless.",
    ],
    examples: ["backup --to /mnt/backups --keep-days 30", "backup --to s3://vault-backups/production"],
    load: async () => (await import("../backup.js")).backupCommand,
  },
  {
    name: "backup verify",
    summary: "Restore a backup into a database made for it and removed again, and check rows, logs and values",
    flags: {
      from: textFlag("PLACE", PLACE),
      backup: textFlag("NAME", "which one; default: the newest"),
      sample: textFlag("N", "rows of each table and tenant to decrypt; default: 1000"),
    },
    notes: [
      "The database is made below the directory for temporary files (TMPDIR). The vault's own is not touched.",
      "The root key must be available: without it nothing can be checked.",
    ],
    load: async () => (await import("../backup-verify.js")).backupVerify,
  },
  {
    name: "export",
    summary: "Write all stored data to a file, as of one moment; values stay encrypted",
    flags: {
      file: textFlag("F", "a new file. It is useless without the root key, which is not in it: back that up elsewhere"),
    },
    load: async () => (await import("../export.js")).exportCommand,
  },
  {
    name: "import",
    summary: "Load an export or a backup into an empty database, atomically; the root key must be available",
    flags: {
      file: textFlag("F", "the output of export"),
      from: textFlag("PLACE", `instead of --file, where backups are: ${PLACE}`),
      backup: textFlag("NAME", "which backup of --from; default: the newest"),
    },
    notes: ["The root key comes from its file or service; if it was split, its shares are read from standard input."],
    load: async () => (await import("../import.js")).importCommand,
  },
];
