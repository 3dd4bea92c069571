import type { Action } from "./api-command.js";

const COLUMNS = ["id", "role", "user.email", "created_at"];

export const listMembers: Action = async (call) => {
  await call.show(call.client.members.list({ size: call.page().size }, call.options()), COLUMNS);
};

export const updateMember: Action = async (call) => {
  const role = call.required("role");
  call.output.one(await call.client.members.update(call.argument(0), { role }, call.options()));
};

export const deleteMember: Action = async (call) => {
  const id = call.argument(0);
  await call.confirm(`Member ${id} will lose access to the tenant.`);
  await call.client.members.delete(id, call.options());
  call.output.one({ id, deleted: true });
};
