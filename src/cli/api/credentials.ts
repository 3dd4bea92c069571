import { UsageError } from "../command.js";
import { profilesFile, readProfiles } from "./profiles.js";

/** There is no key to call with. */
export class NotSignedIn extends Error {
  override readonly name = "NotSignedIn";
}

/** What a command calls with, and where each part comes from. */
export interface Credentials {
  readonly url: string;
  readonly urlFrom: string;
  readonly key: string;
  readonly keyFrom: string;
  readonly caFile: string | undefined;
}

interface Given {
  readonly url: string | undefined;
  readonly profile: string | undefined;
}

/**
 * Options win over the environment, and the environment over the profile. A profile that is named wins over the
 * environment too.
 * @throws {NotSignedIn} without a key.
 * @throws {UsageError} without an address, or if the key of a profile would go to another address than the profile's.
 */
export function findCredentials(given: Given, environment: NodeJS.ProcessEnv = process.env): Credentials {
  const name = given.profile ?? "default";
  const profile = readProfiles(profilesFile(environment))[name];
  if (given.profile !== undefined && !profile) {
    throw new UsageError(`There is no profile ${name}. Run: cloakroom login --profile ${name}`);
  }
  const isNamed = given.profile !== undefined;
  const fromEnvironment = (value: string | undefined) => (isNamed ? undefined : value || undefined);
  const url = firstOf(
    [given.url, "--url"],
    [fromEnvironment(environment.CLOAKROOM_URL), "CLOAKROOM_URL"],
    [profile?.url, `profile ${name}`],
  );
  const key = firstOf(
    [fromEnvironment(environment.CLOAKROOM_API_KEY), "CLOAKROOM_API_KEY"],
    [profile?.key, `profile ${name}`],
  );
  if (!key) throw new NotSignedIn("There is no key. Set CLOAKROOM_API_KEY, or run: cloakroom login");
  if (!url) throw new UsageError("There is no address. Set CLOAKROOM_URL or --url, or run: cloakroom login");
  const isOfProfile = key.value === profile?.key && key.from === `profile ${name}`;
  if (isOfProfile && !isSameAddress(url.value, profile.url)) {
    throw new UsageError(
      `The key of profile ${name} is for ${profile.url} and is not sent to another address. Set CLOAKROOM_API_KEY, or log in there with a profile of its own.`,
    );
  }
  return { url: url.value, urlFrom: url.from, key: key.value, keyFrom: key.from, caFile: profile?.ca_file };
}

function firstOf(...sources: readonly (readonly [value: string | undefined, from: string])[]) {
  for (const [value, from] of sources) if (value !== undefined) return { value, from };
  return undefined;
}

function isSameAddress(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href;
}
