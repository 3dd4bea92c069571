import type { CreateProxyInput, TestProxyInput, UpdateProxyInput } from "@cloakroom/client";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";

const COLUMNS = ["id", "name", "destination_url", "created_at"];

export const listProxies: Action = async (call) => {
  const filter = { name: call.text("name"), size: call.page().size };
  await call.show(call.client.proxies.list(filter, call.options()), COLUMNS);
};

export const createProxy: Action = async (call) => {
  const input: CreateProxyInput = JSON.parse(await call.request(givenFields(call)));
  call.output.one(await call.client.proxies.create(input, call.options()));
};

export const updateProxy: Action = async (call) => {
  const id = call.argument(0);
  const patch: UpdateProxyInput = JSON.parse(await call.request(givenFields(call)));
  await call.client.proxies.update(id, patch, call.options());
  call.output.one(await call.client.proxies.get(id, call.options()));
};

export const testProxy: Action = async (call) => {
  call.required("from");
  const input: TestProxyInput = JSON.parse(await call.request({}));
  call.output.one(await call.client.proxies.test(input, call.options()));
};

function givenFields(call: ApiCall) {
  return { name: call.text("name"), destinationUrl: call.text("destination-url") };
}
