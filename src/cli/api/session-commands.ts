import { resolve } from "node:path";
import { CloakroomError } from "@cloakroom/client";
import { UsageError } from "../command.js";
import { type ApiCall, clientFor } from "./api-call.js";
import type { Action } from "./command.js";
import { profilesFile, readProfiles, writeProfiles } from "./profiles.js";
import { askHidden } from "./prompt.js";
import { readStandardInput } from "./standard-input.js";

/** The last characters of a key, which tell keys apart and are of no use without the rest. */
const SHOWN = 4;

export const login: Action = async (call) => {
  const profile = call.text("profile") ?? "default";
  const url = call.text("url") ?? process.env.CLOAKROOM_URL;
  if (!url) throw new UsageError("--url is missing: the address of the vault.");
  const caFile = call.text("ca-file");
  const ca = caFile === undefined ? undefined : resolve(caFile);
  const key = await readKey(call);
  const client = clientFor({ url, key, caFile: ca });
  try {
    const { id, name, type, tenantId } = await client.applications.getByKey(call.options());
    const file = profilesFile();
    const saved = { url, key, ...(ca === undefined ? {} : { ca_file: ca }) };
    writeProfiles(file, { ...readProfiles(file), [profile]: saved });
    call.output.one({ profile, url, tenantId, applicationId: id, applicationName: name, applicationType: type });
  } finally {
    await client.close();
  }
};

export const logout: Action = async (call) => {
  const name = call.text("profile") ?? "default";
  const file = profilesFile();
  const { [name]: removed, ...others } = readProfiles(file);
  if (!removed) throw new UsageError(`There is no profile ${name}.`);
  writeProfiles(file, others);
  call.output.one({ profile: name, removed: true });
};

export const whoami: Action = async (call) => {
  const { url, urlFrom, key, keyFrom } = call.credentials();
  const { id, name, type, tenantId, permissions } = await call.client.applications.getByKey(call.options());
  const tenantName = await tenantNameOf(call);
  call.output.one({
    ...{ url, urlFrom },
    key: `…${key.slice(-SHOWN)}`,
    ...{ keyFrom, tenantId, tenantName },
    ...{ applicationId: id, applicationName: name, applicationType: type, permissions },
  });
};

/** Undefined where the key may not read the tenant. */
async function tenantNameOf(call: ApiCall): Promise<string | undefined> {
  try {
    return (await call.client.tenant.get(call.options())).name;
  } catch (error) {
    if (error instanceof CloakroomError && error.code === "permission_denied") return undefined;
    throw error;
  }
}

async function readKey(call: ApiCall): Promise<string> {
  const isAsked = !call.isSet("with-key") && process.stdin.isTTY && !call.isSet("no-input");
  if (!isAsked && !call.isSet("with-key")) {
    throw new UsageError("Give the key by standard input: cloakroom login --url URL --with-key < FILE");
  }
  const key = (isAsked ? await askHidden("Key") : await readStandardInput("the key")).trim();
  if (key === "") throw new UsageError("The key is empty.");
  return key;
}
