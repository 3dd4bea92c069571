import { ConfigError } from "./config-error.js";
import { DATABASE_SETTINGS } from "./groups/database.js";
import type { Setting } from "./setting.js";
import type { Environment } from "./setting-values.js";
import { SETTINGS } from "./settings.js";

/** Names of all settings without their prefix, files of secrets included. */
export const NAMES: readonly string[] = Object.entries<Setting>(SETTINGS).flatMap(([name, { kind }]) =>
  kind === "secret" ? [name, `${name}_FILE`] : [name],
);

/** Present names of renamed settings, by their former names. The next release drops the former ones. */
const RENAMED: Readonly<Record<string, string>> = {
  CLOAKROOM_RPC_LANE: "CLOAKROOM_RPC_FAST_PATH",
  CLOAKROOM_LOG_RETENTION_DAYS: "CLOAKROOM_AUDIT_RETENTION_DAYS",
  CLOAKROOM_LOG_ADDRESSES: "CLOAKROOM_AUDIT_CLIENT_ADDRESSES",
  CLOAKROOM_REQUEST_TIMEOUT_MS: "CLOAKROOM_MAX_RPC_DEADLINE_MS",
};

/**
 * Accepts former names of settings for one release.
 * @param warn called with one line for each former name.
 * @throws {ConfigError} if a setting has both names.
 */
export function withPresentNames(environment: Environment, warn: (line: string) => void): Environment {
  const present = { ...environment };
  for (const [former, name] of Object.entries(RENAMED)) {
    if (present[former] === undefined) continue;
    if (present[name] !== undefined) throw new ConfigError(`Set ${name}, not also its former name ${former}.`);
    warn(`${former} is now ${name}. The next release does not accept the former name.`);
    present[name] = present[former];
    delete present[former];
  }
  return present;
}

/** @throws {ConfigError} for a CLOAKROOM_ name that is not in {@link NAMES}. */
export function refuseUnknownNames(environment: Environment): void {
  const keys = Object.keys(environment).filter((key) => key.startsWith("CLOAKROOM_"));
  for (const key of keys) {
    if (!isServiceLink(key, environment[key])) continue;
    throw new ConfigError(
      `${key} is not a setting: Kubernetes sets it for a Service of this name. Set enableServiceLinks: false in the pod's spec, or rename the Service.`,
    );
  }
  for (const key of keys) {
    const name = key.slice("CLOAKROOM_".length);
    if (NAMES.some((known) => known === name)) continue;
    const close = NAMES.find((known) => known.startsWith(name.slice(0, 4)));
    const hint = close ? ` Did you mean CLOAKROOM_${close}?` : "";
    throw new ConfigError(`Unknown setting ${key}.${hint} docs/configuration.md lists all settings.`);
  }
}

const DATABASE_NAMES = Object.keys(DATABASE_SETTINGS).flatMap((name) => [name, `${name}_FILE`]);

/**
 * Rejects empty settings: they are mistakes, such as a secret that was not mounted. An empty DATABASE_URL read as "not
 * set" would start an embedded database in place of the operator's.
 * @throws {ConfigError}
 */
export function refuseEmptySettings(environment: Environment): void {
  const ours = Object.keys(environment).filter((key) => key.startsWith("CLOAKROOM_"));
  for (const key of [...DATABASE_NAMES, ...ours]) {
    if (environment[key]?.trim() !== "") continue;
    const without = key.startsWith("DATABASE_URL") ? "to use the embedded database" : "to use its default";
    throw new ConfigError(`${key} is set, but empty. Give it a value, or remove it ${without}.`);
  }
}

/** Whether Kubernetes set the variable, for a Service whose name begins with the prefix of our settings. */
function isServiceLink(key: string, value: string | undefined): boolean {
  if (/_PORT$/.test(key) && /^(tcp|udp|sctp):\/\//.test(value ?? "")) return true;
  return /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(key);
}
