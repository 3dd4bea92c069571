import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { terminal } from "../../base/terminal.js";
import { UsageError } from "../usage-error.js";

interface VaultConnection {
  readonly url: string;
  readonly ca_file?: string;
}

/** A vault, and the key or the sign-in of a person to use there. A sign-in is the cookie that the vault set. */
export type Profile = VaultConnection & ({ readonly key: string } | { readonly sign_in: string });

export type Profiles = Readonly<Record<string, Profile>>;

/** The file of profiles, whose secrets only its owner may read. */
export function profilesFile(environment: NodeJS.ProcessEnv = terminal().env): string {
  return join(environment.XDG_CONFIG_HOME || join(homedir(), ".config"), "cloakroom", "config.json");
}

/** @throws {UsageError} for a file that other users can read, or that is not what {@link writeProfiles} writes. */
export function readProfiles(file: string): Profiles {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return {};
  if ((mode & 0o077) !== 0) {
    throw new UsageError(`Other users may read the keys in ${file}. Run: chmod 600 ${file}`);
  }
  const damaged = new UsageError(`${file} cannot be read. Remove it and run: cloakroom login`);
  const content = parsed(readFileSync(file, "utf8"), damaged);
  if (typeof content !== "object" || content === null) throw damaged;
  // Without a prototype: no profile is named constructor unless the file has it.
  const profiles: Record<string, Profile> = Object.create(null);
  for (const [name, profile] of Object.entries(content)) {
    if (!isProfile(profile)) throw damaged;
    profiles[name] = profile;
  }
  return profiles;
}

/** Replaces the file in one step. */
export function writeProfiles(file: string, profiles: Profiles): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
  // A draft that an earlier process left behind keeps its mode.
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

function parsed(text: string, damaged: UsageError): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw damaged;
  }
}

function isProfile(value: unknown): value is Profile {
  if (typeof value !== "object" || value === null) return false;
  const hasKey = "key" in value && typeof value.key === "string";
  const hasSignIn = "sign_in" in value && typeof value.sign_in === "string";
  const hasUrl = "url" in value && typeof value.url === "string";
  return hasUrl && hasKey !== hasSignIn && (!("ca_file" in value) || typeof value.ca_file === "string");
}
