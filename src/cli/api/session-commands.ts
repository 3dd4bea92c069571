import { resolve } from "node:path";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { CloakroomError } from "@cloakroom/client";
import type { WhoAmIResponse } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { terminal } from "../../base/terminal.js";
import { UsageError } from "../usage-error.js";
import { type ApiCall, clientFor } from "./api-call.js";
import type { Action } from "./api-command.js";
import type { VaultAddress } from "./credentials.js";
import { type Profile, profilesFile, readProfiles, writeProfiles } from "./profiles.js";
import { askHidden } from "./prompt.js";
import { readStandardInput } from "./standard-input.js";

/** The last characters of a key, which tell keys apart and are of no use without the rest. */
const SHOWN = 4;

export const login: Action = async (call) => {
  const profile = call.text("profile") ?? "default";
  const url = call.text("url") ?? terminal().env.CLOAKROOM_URL;
  if (!url) throw new UsageError("--url is missing: the address of the vault.");
  const givenCa = call.text("ca-file");
  const vault = { url, caFile: givenCa === undefined ? undefined : resolve(givenCa) };
  const save = (saved: Profile) => {
    const file = profilesFile();
    writeProfiles(file, { ...readProfiles(file), [profile]: saved });
  };
  if (!call.isSet("device")) {
    if (call.isSet("tenant")) throw new UsageError("--tenant goes with --device.");
    return loginWithKey(call, vault, profile, save);
  }
  if (call.isSet("with-key")) throw new UsageError("--device and --with-key cannot be combined.");
  // A file that cannot be read would be noticed after the person has signed in.
  readProfiles(profilesFile());
  const { deviceLogin } = await import("./device-login.js");
  const { person, profile: saved } = await deviceLogin(call, vault);
  save(saved);
  call.output.one({ profile, url, ...shownPerson(person) });
};

async function loginWithKey(call: ApiCall, vault: VaultAddress, profile: string, save: (saved: Profile) => void) {
  const { url, caFile } = vault;
  const key = await readKey(call);
  const client = clientFor({ ...vault, identity: { kind: "key", key, from: "standard input" } });
  try {
    const { id, name, type, tenantId } = await client.applications.getByKey(call.options());
    save({ url, key, ...(caFile === undefined ? {} : { ca_file: caFile }) });
    call.output.one({ profile, url, tenantId, applicationId: id, applicationName: name, applicationType: type });
  } finally {
    await client.close();
  }
}

export const logout: Action = async (call) => {
  const name = call.text("profile") ?? "default";
  const file = profilesFile();
  const { [name]: removed, ...others } = readProfiles(file);
  if (!removed) throw new UsageError(`There is no profile ${name}.`);
  writeProfiles(file, others);
  if ("sign_in" in removed) await endSignIn(call, removed);
  call.output.one({ profile: name, removed: true });
};

/** Ends a sign-in at the vault, if it is not over yet. */
async function endSignIn(call: ApiCall, { url, ca_file, sign_in }: Extract<Profile, { readonly sign_in: string }>) {
  const { SignInClient } = await import("./sign-in-client.js");
  try {
    await new SignInClient({ url, caFile: ca_file }, call.signInOptions(), sign_in).signOut();
  } catch (error) {
    if (error instanceof CloakroomError && error.code === "unauthenticated") return;
    terminal().stderr.write(
      "The profile is removed. The sign-in ends by itself, 15 minutes after its last use at most.\n",
    );
    throw error;
  }
}

export const whoami: Action = async (call) => {
  const { url, urlFrom, caFile, identity } = call.credentials();
  if (identity.kind === "person") {
    const { SignInClient } = await import("./sign-in-client.js");
    const person = await new SignInClient({ url, caFile }, call.signInOptions(), identity.cookie).whoAmI();
    return call.output.one({ url, urlFrom, signInFrom: identity.from, ...shownPerson(person) });
  }
  const { key, from: keyFrom } = identity;
  const { id, name, type, tenantId, permissions } = await call.client.applications.getByKey(call.options());
  const tenantName = await tenantNameOf(call);
  call.output.one({
    url,
    urlFrom,
    key: `…${key.slice(-SHOWN)}`,
    keyFrom,
    tenantId,
    tenantName,
    applicationId: id,
    applicationName: name,
    applicationType: type,
    permissions,
  });
};

function shownPerson({ tenantId, tenantName, email, role, signIn }: WhoAmIResponse) {
  const endsAt = signIn?.expiresAt && timestampDate(signIn.expiresAt);
  return { tenantId, tenantName, email, role, signInEndsAt: endsAt };
}

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
  const isAsked = !call.isSet("with-key") && terminal().stdin.isTTY && !call.isSet("no-input");
  if (!isAsked && !call.isSet("with-key")) {
    throw new UsageError("Give the key by standard input: cloakroom login --url URL --with-key < FILE");
  }
  const key = (isAsked ? await askHidden("Key") : await readStandardInput("the key")).trim();
  if (key === "") throw new UsageError("The key is empty.");
  return key;
}
