import type { CreateApplicationInput, UpdateApplicationInput } from "@cloakroom/client";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";
import { toClientNames, toRestNames } from "./field-names.js";

const COLUMNS = ["id", "name", "type", "created_at"];
const KEY_COLUMNS = ["id", "name", "owner", "created_at", "expires_at", "last_used_at"];

export const listApplications: Action = async (call) => {
  const filter = { type: call.list("type"), name: call.text("name"), size: call.page().size };
  await call.show(call.client.applications.list(filter, call.options()), COLUMNS);
};

export const createApplication: Action = async (call) => {
  const fields = { ...(await givenFields(call)), type: call.text("type") };
  const input: CreateApplicationInput = JSON.parse(await call.request(fields));
  call.output.one(await call.client.applications.create(input, call.options()));
};

export const updateApplication: Action = async (call) => {
  const given: UpdateApplicationInput = JSON.parse(await call.request(await givenFields(call)));
  // A list in place of a stored one is plain JSON, whose names are those of the REST API.
  const { templates, ...rest } = given;
  const input =
    templates === undefined ? rest : { ...rest, templates: JSON.parse(JSON.stringify(toRestNames(templates))) };
  call.output.one(await call.client.applications.update(call.argument(0), input, call.options()));
};

export const listKeys: Action = async (call) => {
  const { size } = call.page();
  await call.show(call.client.applicationKeys.list(call.argument(0), { size }, call.options()), KEY_COLUMNS);
};

export const getKey: Action = async (call) => {
  call.output.one(await call.client.applicationKeys.get(call.argument(0), call.argument(1), call.options()));
};

export const createKey: Action = async (call) => {
  const input = { name: call.text("name"), owner: call.text("owner"), expiresAt: call.text("expires-at") };
  call.output.one(await call.client.applicationKeys.create(call.argument(0), input, call.options()));
};

export const deleteKey: Action = async (call) => {
  const id = call.argument(1);
  await call.confirm(`Key ${id} will be deleted, and stops working at once.`);
  await call.client.applicationKeys.delete(call.argument(0), id, call.options());
  call.output.one({ id, deleted: true });
};

async function givenFields(call: ApiCall) {
  const allowed = call.text("allow-page-requests");
  return {
    name: call.text("name"),
    permissions: call.list("permission"),
    allowedOrigins: call.list("origin"),
    templates: toClientNames(await call.json("templates")),
    allowPageRequests: allowed === undefined ? undefined : allowed === "yes",
  };
}
