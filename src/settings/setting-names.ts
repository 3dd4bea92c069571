import { suggestionFor } from "../base/suggestion.js";
import { ConfigError } from "./config-error.js";
import { DATABASE_SETTINGS } from "./groups/database.js";
import type { Setting } from "./setting.js";
import type { Environment } from "./setting-values.js";
import { SETTINGS } from "./settings.js";

/** Names of all settings without their prefix, files of secrets included. */
export const NAMES: readonly string[] = Object.entries<Setting>(SETTINGS).flatMap(([name, { kind }]) =>
  kind === "secret" ? [name, `${name}_FILE`] : [name],
);

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
    const close = suggestionFor(name, NAMES);
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
