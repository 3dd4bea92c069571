import { CloakroomError, type ServerVersion } from "@cloakroom/client";
import { terminal } from "../../base/terminal.js";
import { printable } from "../printable.js";
import { readVersion } from "../version.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";

export const version: Action = async (call) => {
  const client = readVersion();
  if (!call.isSet("server")) return call.output.one(client);
  const { url } = call.credentials();
  const server = await serverVersion(call);
  if (call.output.isForPeople) {
    const rows = [
      { program: "this command", ...client },
      { program: url, ...server },
    ];
    call.output.list(rows, ["program", "version", "commit"]);
  } else call.output.one({ client, server: { url, ...server } });
  const warning = versionWarning(client, server);
  if (warning !== undefined) terminal().stderr.write(`${printable(warning)}\n`);
};

/** Undefined for a server that is too old to say it. */
async function serverVersion(call: ApiCall): Promise<ServerVersion | undefined> {
  try {
    return await call.client.server.getVersion(call.options());
  } catch (error) {
    if (error instanceof CloakroomError && error.code === "method_not_allowed") return undefined;
    throw error;
  }
}

/** A warning about what may not work between the two; undefined if they are the same build. */
export function versionWarning(
  client: { readonly version: string; readonly commit?: string | undefined },
  server: { readonly version: string; readonly commit?: string | undefined } | undefined,
): string | undefined {
  if (server === undefined) return "Warning: the server is older than this command and does not report its version.";
  if (client.version !== server.version) {
    return `Warning: this command is version ${client.version}, and the server is version ${server.version}. The older one lacks what is new in the other.`;
  }
  const isKnown = client.commit !== undefined && server.commit !== undefined;
  return isKnown && client.commit !== server.commit
    ? `Warning: this command and the server are different builds of version ${client.version}.`
    : undefined;
}
