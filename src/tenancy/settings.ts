import type { TenantSettings } from "../access/tenant-settings.js";
import { invalidFields } from "../base/fault.js";
import { setOwnProperty } from "../base/json.js";

export const DEFAULT_SETTINGS: TenantSettings = {
  fingerprint_tokens: false,
  disable_ephemeral_proxy: false,
  deduplicate_tokens: false,
  require_reveal_reason: false,
  record_log_reads: false,
  reveal_to_people: false,
  require_export_approval: false,
};

/** Settings of newer clients, each with the single value that matches this vault's behavior. */
export const FIXED_SETTINGS: ReadonlyMap<string, string> = new Map([["token_deduplication_behavior", "read_existing"]]);

/**
 * Unknown names are refused: a caller would otherwise believe that such a setting is on.
 * @throws {Fault} validation_failed for unknown names, and for texts other than "true" and "false".
 */
export function mergeSettings(current: TenantSettings, sent: Readonly<Record<string, string>>): TenantSettings {
  const faults: Record<string, string[]> = {};
  const merged: { -readonly [Name in keyof TenantSettings]: boolean } = { ...current };
  for (const [name, text] of Object.entries(sent)) {
    if (!isSettingName(name)) {
      if (FIXED_SETTINGS.get(name) !== text) setOwnProperty(faults, `settings.${name}`, [objectionTo(name)]);
      continue;
    }
    if (text !== "true" && text !== "false") faults[`settings.${name}`] = ['must be "true" or "false"'];
    else merged[name] = text === "true";
  }
  if (Object.keys(faults).length > 0) throw invalidFields(faults);
  return merged;
}

function objectionTo(name: string): string {
  const only = FIXED_SETTINGS.get(name);
  return only === undefined
    ? `is not known; known are ${Object.keys(DEFAULT_SETTINGS).join(", ")}`
    : `must be "${only}"`;
}

/** The API shows each setting as a string. */
export function showSettings(settings: TenantSettings): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));
}

function isSettingName(name: string): name is keyof TenantSettings {
  return Object.hasOwn(DEFAULT_SETTINGS, name);
}
