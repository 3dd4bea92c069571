import type { Action } from "./api-command.js";

const COLUMNS = ["id", "role", "user.email", "created_at"];

export const listMembers: Action = async (call) => {
  await call.show(call.client.members.list({ size: call.page().size }, call.options()), COLUMNS);
};

export const updateMember: Action = async (call) => {
  const role = call.required("role");
  call.output.one(await call.client.members.update(call.argument(0), { role }, call.options()));
};
