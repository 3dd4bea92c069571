import { optional, secret } from "../setting.js";

export const SINKS = {
  AUDIT_FILE: optional(
    "file, or `-` for standard output",
    "none",
    "File that the log rows of tenants and of the vault are sent to, as lines of JSON. From 100 MB on it is renamed and a new one begun; remove or move the renamed ones as you like. See [Sending the log on](audit-export.md#sending-the-log-on).",
  ),
  AUDIT_SYSLOG: optional(
    "`tls://host:port` or `tcp://host:port`",
    "none",
    "Syslog server that the log rows of tenants and of the vault are sent to (RFC 5424).",
  ),
  AUDIT_SYSLOG_CA_FILE: optional(
    "file",
    "the system's certificates",
    "Certificates to check the syslog server by, PEM.",
  ),
  AUDIT_OTLP_URL: optional(
    "`http` or `https` URL",
    "none",
    "OTLP receiver that the log rows of tenants and of the vault are sent to, over HTTP in JSON: `http://collector.example.com:4318/v1/logs`.",
  ),
  AUDIT_OTLP_HEADERS: secret(
    "`name=value`, separated by commas",
    "none",
    "Further headers for that receiver, such as `authorization`.",
  ),
  AUDIT_TSA_URL: optional(
    "`http` or `https` URL",
    "none",
    "Time-stamp authority (RFC 3161) that stamps a hash of the last seals of each day. Needs `CLOAKROOM_AUDIT_TSA_CA_FILE`. See [Time stamps](audit-export.md#time-stamps).",
  ),
  AUDIT_TSA_CA_FILE: optional("file", "none", "Certificates that its time stamps must lead to, PEM."),
  AUDIT_TSA_POLICY: optional("object identifier", "the authority's own", "Policy that its time stamps must have."),
};
