import type { Action } from "./api-command.js";
import { chosen } from "./chosen.js";

const COLUMNS = ["id", "email", "role", "status", "expires_at"];

export const listInvitations: Action = async (call) => {
  const filter = { status: chosen(call, "status", ["PENDING", "EXPIRED"]), size: call.page().size };
  await call.show(call.client.invitations.list(filter, call.options()), COLUMNS);
};

export const createInvitation: Action = async (call) => {
  const input = { email: call.argument(0), role: call.text("role"), containers: call.list("container") };
  call.output.one(await call.client.invitations.create(input, call.options()));
};

export const resendInvitation: Action = async (call) => {
  call.output.one(await call.client.invitations.resend(call.argument(0), call.options()));
};
