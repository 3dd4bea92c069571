import type { OperatorCommand } from "../operator-command.js";

const PLACE = "a directory, or s3://BUCKET/PREFIX with the settings CLOAKROOM_S3_...";

export const COPY_COMMANDS: readonly OperatorCommand[] = [
  {
    name: "backup",
    summary: "Take a backup of all stored data, as of one moment, beside a running server; values stay encrypted",
    flags: {
      to: { kind: "text", value: "PLACE", meaning: PLACE },
      keep: { kind: "text", value: "N", meaning: "remove older backups of this vault, except the newest N" },
      "keep-days": { kind: "text", value: "N", meaning: "remove older backups of this vault, except those of N days" },
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
      from: { kind: "text", value: "PLACE", meaning: PLACE },
      backup: { kind: "text", value: "NAME", meaning: "which one; default: the newest" },
      sample: { kind: "text", value: "N", meaning: "rows of each table and tenant to decrypt; default: 1000" },
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
      file: {
        kind: "text",
        value: "F",
        meaning: "a new file. It is useless without the root key, which is not in it: back that up elsewhere",
      },
    },
    load: async () => (await import("../export.js")).exportCommand,
  },
  {
    name: "import",
    summary: "Load an export or a backup into an empty database, atomically; the root key must be available",
    flags: {
      file: { kind: "text", value: "F", meaning: "the output of export" },
      from: { kind: "text", value: "PLACE", meaning: `instead of --file, where backups are: ${PLACE}` },
      backup: { kind: "text", value: "NAME", meaning: "which backup of --from; default: the newest" },
    },
    notes: ["The root key comes from its file or service; if it was split, its shares are read from standard input."],
    load: async () => (await import("../import.js")).importCommand,
  },
];
