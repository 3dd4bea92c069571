import type { Action } from "./api-command.js";

const COLUMNS = [
  "id",
  "state",
  "application_name",
  "container",
  "type",
  "rules",
  "reason",
  "requested_by",
  "expires_at",
];

export const listTokenExports: Action = async (call) => {
  await call.show(call.client.tokenExports.list(call.options()), COLUMNS);
};

export const requestTokenExport: Action = async (call) => {
  const request = {
    applicationId: call.required("application"),
    reason: call.required("reason"),
    container: call.text("container"),
    type: call.text("type"),
  };
  call.output.one(await call.client.tokenExports.request(request, call.options()));
};

export const approveTokenExport: Action = async (call) => {
  call.output.one(await call.client.tokenExports.approve({ id: call.argument(0) }, call.options()));
};

export const deleteTokenExport: Action = async (call) => {
  const id = call.argument(0);
  await call.client.tokenExports.delete({ id }, call.options());
  call.output.one({ id, deleted: true });
};
