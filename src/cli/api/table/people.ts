import { listFlag, textFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { deleteCommand, getCommand } from "./entity-commands.js";
import { LISTED } from "./flags.js";

const CONTAINERS = {
  container: listFlag(
    "PATH",
    "of a DEVELOPER: a container in which the member's applications may have more than token:create; may be repeated",
  ),
} as const;

const ROLES = ["ADMIN", "AUDITOR", "DEVELOPER"];

export const PEOPLE_COMMANDS: readonly ApiCommand[] = [
  {
    name: "members list",
    summary: "List the members of the tenant",
    flags: LISTED,
    load: async () => (await import("../member-commands.js")).listMembers,
  },
  {
    name: "members update",
    summary: "Give a member another role",
    arguments: ["ID"],
    flags: { role: textFlag("ROLE", "the role, such as ADMIN") },
    load: async () => (await import("../member-commands.js")).updateMember,
  },
  deleteCommand({
    name: "members delete",
    summary: "Remove a member from the tenant",
    part: "members",
    warning: "Member ID will lose access to the tenant.",
  }),
  {
    name: "invitations list",
    summary: "List invitations, newest first",
    flags: {
      status: textFlag("STATUS", "only this status", ["PENDING", "EXPIRED"]),
      ...LISTED,
    },
    load: async () => (await import("../invitation-commands.js")).listInvitations,
  },
  getCommand("invitations get", "Show an invitation", "invitations"),
  {
    name: "invitations create",
    summary: "Invite a person by mail to join the tenant",
    arguments: ["EMAIL"],
    flags: {
      role: textFlag("ROLE", "the role of the member; default: ADMIN", ROLES),
      ...CONTAINERS,
    },
    examples: ["ada@example.com --role AUDITOR"],
    load: async () => (await import("../invitation-commands.js")).createInvitation,
  },
  {
    name: "invitations resend",
    summary: "Mail a new link, which invalidates the earlier ones, and extend the invitation by 72 hours",
    arguments: ["ID"],
    load: async () => (await import("../invitation-commands.js")).resendInvitation,
  },
  deleteCommand({
    name: "invitations delete",
    summary: "Withdraw an invitation; its links stop working",
    part: "invitations",
    warning: "Invitation ID will be withdrawn, and its links stop working.",
  }),
];
