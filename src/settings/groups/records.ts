import { optional, text, whole } from "../setting.js";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const RECORDS = {
  LOG_LEVEL: text(
    LOG_LEVELS.map((level) => `\`${level}\``).join(", "),
    "info",
    "Least severe lines of the operator's log, which goes to standard output.",
  ),
  AUDIT_RETENTION_DAYS: whole(
    400,
    [0, 36_500],
    "Days that log rows are kept. They are removed by whole months (UTC), so at most 31 days later. 0 keeps all. PCI DSS 10.5.1 asks for 12 months: below 365, `cloakroom doctor` warns.",
  ),
  LOG_ARCHIVE: optional(
    "directory, `s3://BUCKET/PREFIX` or `off`",
    "months past their retention are removed",
    "Where months of the log go past `CLOAKROOM_AUDIT_RETENTION_DAYS`: a signed file for each tenant and month, from which `GET /logs` still answers. See [The archive](audit.md#the-archive). `off` ends an archive: months are removed, and those in it are listed no more.",
  ),
  AUDIT_CLIENT_ADDRESSES: text(
    "`full`, `truncated` or `none`",
    "full",
    "How much of client addresses the log rows of tenants keep. `truncated` keeps the network: /24 of IPv4, /48 of IPv6. PCI DSS 10.2.2 asks for the origin of each event, which `none` leaves out.",
  ),
  BIN_TABLE_FILE: optional(
    "JSON file",
    "none",
    "What you know of card issuers. See [Card issuers](operations.md#card-issuers).",
  ),
};
