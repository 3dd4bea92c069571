import { UsageError } from "../usage-error.js";
import type { Action } from "./api-command.js";

export const getTenant: Action = async (call) => {
  call.output.one(await call.client.tenant.get(call.options()));
};

export const updateTenant: Action = async (call) => {
  const settings = call.entries("setting");
  const given = call.text("name");
  if (given === undefined && settings === undefined) throw new UsageError("Give --name or --setting.");
  // The operation replaces the name, so one that is not given is sent as it is.
  const name = given ?? (await call.client.tenant.get(call.options())).name;
  call.output.one(await call.client.tenant.update({ name, settings }, call.options()));
};

export const showUsage: Action = async (call) => {
  call.output.one(await call.client.tenant.getUsageReport(call.options()));
};
