import type { AuthorizeSessionInput } from "@cloakroom/client";
import type { Action } from "./api-command.js";
import { readStandardInput } from "./standard-input.js";

const COLUMNS = ["id", "application_id", "authorized_by", "transform", "created_at", "expires_at"];

export const listSessions: Action = async (call) => {
  const filter = { applicationId: call.list("application"), size: call.page().size };
  await call.show(call.client.sessions.list(filter, call.options()), COLUMNS);
};

export const createSession: Action = async (call) => {
  call.output.one(await call.client.sessions.create(call.options()));
};

export const authorizeSession: Action = async (call) => {
  const given = call.argument(0);
  const nonce = given === "-" ? (await readStandardInput("the nonce")).trim() : given;
  const fields = {
    nonce,
    permissions: call.list("permission"),
    expiresAt: call.text("expires-at"),
    frameRequired: call.isSet("frame-required") ? true : undefined,
  };
  const input: AuthorizeSessionInput = JSON.parse(await call.request(fields));
  await call.client.sessions.authorize(input, call.options());
  call.output.one({ authorized: true });
};
