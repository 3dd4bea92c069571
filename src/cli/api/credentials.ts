import { terminal } from "../../base/terminal.js";
import { UsageError } from "../usage-error.js";
import { type Profile, profilesFile, readProfiles } from "./profiles.js";

/** There is neither a key nor a sign-in to call with. */
export class NotSignedIn extends Error {
  override readonly name = "NotSignedIn";
}

/** An application by its key, or a person by the cookie of a sign-in: a command acts as one of them. */
export type Identity =
  | { readonly kind: "key"; readonly key: string; readonly from: string }
  | { readonly kind: "person"; readonly cookie: string; readonly from: string };

export interface VaultAddress {
  readonly url: string;
  readonly caFile: string | undefined;
}

/** What a command calls with, and where each part comes from. */
export interface Credentials extends VaultAddress {
  readonly urlFrom: string;
  readonly identity: Identity;
}

interface Given {
  readonly url: string | undefined;
  readonly profile: string | undefined;
}

/**
 * Options win over the environment, and the environment over the profile. A profile that is named wins over the
 * environment too.
 * @throws {NotSignedIn} without a key and without a sign-in.
 * @throws {UsageError} without an address, or if the secret of a profile would go to another address than the profile's.
 */
export function findCredentials(given: Given, environment: NodeJS.ProcessEnv = terminal().env): Credentials {
  const name = given.profile ?? "default";
  const profile = readProfiles(profilesFile(environment))[name];
  if (given.profile !== undefined && !profile) {
    throw new UsageError(`There is no profile ${name}. Run: cloakroom login --profile ${name}`);
  }
  const fromEnvironment = (variable: string) => (given.profile ? undefined : environment[variable] || undefined);
  const url = firstOf(
    [given.url, "--url"],
    [fromEnvironment("CLOAKROOM_URL"), "CLOAKROOM_URL"],
    [profile?.url, `profile ${name}`],
  );
  const key = fromEnvironment("CLOAKROOM_API_KEY");
  const identity = key
    ? ({ kind: "key", key, from: "CLOAKROOM_API_KEY" } as const)
    : profile && identityOf(profile, `profile ${name}`);
  if (!identity) throw new NotSignedIn("There is no key. Set CLOAKROOM_API_KEY, or run: cloakroom login");
  if (!url) throw new UsageError("There is no address. Set CLOAKROOM_URL or --url, or run: cloakroom login");
  if (!key && profile && !isSameAddress(url.value, profile.url)) {
    const secret = identity.kind === "key" ? "key" : "sign-in";
    throw new UsageError(
      `The ${secret} of profile ${name} is for ${profile.url} and is not sent to another address. Set CLOAKROOM_API_KEY, or log in there with a profile of its own.`,
    );
  }
  return { url: url.value, urlFrom: url.from, identity, caFile: profile?.ca_file };
}

function identityOf(profile: Profile, from: string): Identity {
  return "key" in profile ? { kind: "key", key: profile.key, from } : { kind: "person", cookie: profile.sign_in, from };
}

function firstOf(...sources: readonly (readonly [value: string | undefined, from: string])[]) {
  for (const [value, from] of sources) if (value !== undefined) return { value, from };
  return undefined;
}

function isSameAddress(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href;
}
