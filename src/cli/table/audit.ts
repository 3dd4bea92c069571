import { type Flags, switchFlag, textFlag } from "../command.js";
import type { OperatorCommand } from "../operator-command.js";
import { TIME_MEANING } from "../time-argument.js";

const TENANT = {
  tenant: textFlag("ID", "this tenant alone"),
} as const satisfies Flags;

const HISTORY = {
  since: textFlag("TIME", `from this time on: ${TIME_MEANING}`),
  until: textFlag("TIME", "before this time"),
  limit: textFlag("N", "rows of each tenant at most, up to 10000; 1000 unless given"),
} as const satisfies Flags;

const TENANT_HISTORY: Flags = { ...TENANT, ...HISTORY };

export const AUDIT_COMMANDS: readonly OperatorCommand[] = [
  {
    name: "audit verify",
    summary: "Compare the log with its seals, and report which minutes were tampered with (exit code 1)",
    arguments: ["[FILE]"],
    flags: {
      ...TENANT,
      since: textFlag("FILE", "earlier output of --json, kept elsewhere: its tenants and seals must still exist"),
      archive: switchFlag(
        "also read the files of archived months, in CLOAKROOM_LOG_ARCHIVE, and find those that were changed",
      ),
      key: textFlag(
        "FINGERPRINT",
        "the tenant's, which cloakroom audit key shows. Get it from the operator, not with the file",
      ),
      received: switchFlag(
        "FILE is what the sink of CLOAKROOM_AUDIT_FILE wrote. --key takes public keys then, with commas",
      ),
      after: textFlag("EARLIER_EXPORT", "an export that FILE must continue: finds entries that are in neither of both"),
      "tsa-ca": textFlag("FILE", "certificates of the time-stamp authority, PEM: verifies the file's time stamps"),
    },
    notes: [
      "With FILE, of audit export, it verifies that file alone, without the vault or a network. The exit",
      "code is 0 if it is good, 1 if it was tampered with, and 2 if it cannot be verified.",
    ],
    load: async () => (await import("../audit-verify.js")).auditVerify,
  },
  {
    name: "audit export",
    summary: "Write a tenant's log with its signed seals as lines of JSON, which audit verify checks without the vault",
    flags: {
      tenant: textFlag("ID", "the tenant"),
      since: textFlag("TIME", "from the minute of this time on; otherwise from the beginning"),
      until: textFlag("TIME", "to the end of the minute before this time; otherwise to the last seal"),
      file: textFlag("F", "a new file to write to; otherwise standard output"),
    },
    notes: [
      "The file holds sealed minutes only: the last two minutes are not in it. An export leaves a row in the tenant's log.",
    ],
    load: async () => (await import("../audit-export.js")).auditExport,
  },
  {
    name: "audit key",
    summary: "Show the public keys that sign tenants' logs, for auditors who verify exports",
    flags: TENANT,
    load: async () => (await import("../audit-key.js")).auditKey,
  },
  {
    name: "audit restart",
    summary: "Continue a chain of seals that was tampered with, after you have investigated",
    flags: {
      tenant: textFlag("ID", "the chain of this tenant; a tenant that is gone is no longer expected"),
      vault: switchFlag("the vault's own chain, which attests those of all tenants"),
    },
    notes: [
      "Acknowledges the present findings of audit verify: they stay in its output, but no longer make it fail. Later",
      "findings do.",
    ],
    load: async () => (await import("../audit-restart.js")).auditRestart,
  },
  {
    name: "audit who-read",
    summary: "List who read or used a token, when, how it was shown, from where and why",
    arguments: ["TOKEN"],
    flags: TENANT_HISTORY,
    load: async () => (await import("../audit-questions.js")).auditWhoRead,
  },
  {
    name: "audit what-did",
    summary: "Show what an application, person, key or session did, by day",
    arguments: ["ID"],
    flags: {
      ...TENANT_HISTORY,
      rows: switchFlag("the rows too; --since is 30d unless given"),
    },
    load: async () => (await import("../audit-questions.js")).auditWhatDid,
  },
  {
    name: "audit denied",
    summary:
      "List requests and sign-ins that were denied, and keys that were not valid, in the last 24 hours or another time",
    flags: {
      ...TENANT_HISTORY,
      "sign-ins": switchFlag("failed sign-ins alone, passkeys that were refused included"),
      by: textFlag("GROUP", "counts by actor, key, address, code or day in place of rows"),
    },
    load: async () => (await import("../audit-questions.js")).auditDenied,
  },
  {
    name: "audit reveals",
    summary:
      "List values that were shown in the clear, by whom, from where and why, in the last 7 days or another time",
    flags: {
      ...TENANT_HISTORY,
      people: switchFlag("those that were shown to members alone, not to applications"),
      actor: textFlag("ID", "those that were shown to this application or person alone"),
      by: textFlag("GROUP", "counts by actor, key, address or day in place of rows"),
    },
    load: async () => (await import("../audit-questions.js")).auditReveals,
  },
  {
    name: "audit changes",
    summary:
      "List what changed of rights, rules, roles and settings, with before and after, in the last 30 days or another time",
    arguments: ["[ID]"],
    flags: TENANT_HISTORY,
    notes: [
      "With ID, of an application, member, invitation, proxy, reactor, webhook or tenant, it lists its changes alone.",
    ],
    load: async () => (await import("../audit-questions.js")).auditChanges,
  },
  {
    name: "audit operations",
    summary: "List what concerned the whole vault: starts and stops of servers, tenants, root keys, exports",
    flags: HISTORY,
    load: async () => (await import("../audit-operations.js")).auditOperations,
  },
  {
    name: "audit reopen",
    summary: "Set logs back to the present that a fast clock closed ahead of time",
    flags: TENANT,
    notes: ["Servers do this by themselves, at the first request that meets such a log. Correct the clocks first."],
    load: async () => (await import("../audit-reopen.js")).auditReopen,
  },
];
