import { readFileSync } from "node:fs";
import { Sensitive } from "../crypto/sensitive.js";
import { ConfigError } from "./config-error.js";
import { type OptionalName, type OptionalWholeName, SETTINGS, type TextName, type WholeName } from "./settings.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads a secret, given directly or as the name of a file that contains it (`..._FILE`). */
export function readSecret(environment: Environment, name: string): Sensitive<string> | undefined {
  const file = environment[`${name}_FILE`];
  if (environment[name] && file) throw new ConfigError(`Set ${name} or ${name}_FILE, not both.`);
  if (environment[name]) return new Sensitive(environment[name]);
  if (!file) return undefined;
  const secret = readSecretFile(name, file);
  if (secret === "") throw new ConfigError(`${name}_FILE names an empty file: ${file}`);
  return new Sensitive(secret);
}

function readSecretFile(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    throw new ConfigError(`${name}_FILE names a file that cannot be read: ${file}`);
  }
}

export function readSettingText(environment: Environment, name: TextName): string {
  return environment[`CLOAKROOM_${name}`] ?? SETTINGS[name].byDefault;
}

export function readOptional(environment: Environment, name: OptionalName): string | undefined {
  return environment[`CLOAKROOM_${name}`];
}

/** @throws {ConfigError} for a value that is not a whole number within the setting's bounds. */
export function readWhole(environment: Environment, name: WholeName): number {
  return readNumber(environment, name) ?? SETTINGS[name].byDefault;
}

/** Returns undefined for an absent setting. @throws {ConfigError} as {@link readWhole} does. */
export function readOptionalWhole(environment: Environment, name: OptionalWholeName): number | undefined {
  return readNumber(environment, name);
}

function readNumber(environment: Environment, name: WholeName | OptionalWholeName): number | undefined {
  const value = environment[`CLOAKROOM_${name}`];
  if (value === undefined) return undefined;
  const { least, most } = SETTINGS[name];
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= least && number <= most) return number;
  throw new ConfigError(`CLOAKROOM_${name} must be a whole number from ${least} to ${most}; it is "${value}".`);
}
