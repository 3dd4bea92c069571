import { BUCKETS } from "./groups/buckets.js";
import { DATABASE, DATABASE_SETTINGS } from "./groups/database.js";
import { LISTENING } from "./groups/listening.js";
import { OUTGOING } from "./groups/outgoing.js";
import { PEOPLE } from "./groups/people.js";
import { RECORDS } from "./groups/records.js";
import { REQUESTS } from "./groups/requests.js";
import { ROOT_KEY } from "./groups/root-key.js";
import { SANDBOX } from "./groups/sandbox.js";
import { SINKS } from "./groups/sinks.js";
import type { Setting } from "./setting.js";

/** Every setting whose variable starts with `CLOAKROOM_`, by its name without that prefix. */
export const SETTINGS = {
  ...LISTENING,
  ...DATABASE,
  ...ROOT_KEY,
  ...REQUESTS,
  ...OUTGOING,
  ...SANDBOX,
  ...RECORDS,
  ...SINKS,
  ...BUCKETS,
  ...PEOPLE,
};
type Settings = typeof SETTINGS;

type NameOf<Kind extends Setting["kind"]> = {
  [Name in keyof Settings]: Settings[Name] extends { readonly kind: Kind } ? Name : never;
}[keyof Settings];

export type TextName = NameOf<"text">;
export type OptionalName = NameOf<"optional">;
export type SecretName = NameOf<"secret">;
export type WholeName = NameOf<"whole">;
export type OptionalWholeName = NameOf<"optional_whole">;
export type Name = keyof Settings | `${SecretName}_FILE`;

/** Settings by topic, in the order of the configuration reference, each under the full name of its variable. */
export const SETTING_GROUPS: readonly {
  readonly title: string;
  readonly settings: Readonly<Record<string, Setting>>;
}[] = [
  { title: "Listening", settings: prefixed(LISTENING) },
  { title: "Database", settings: { ...DATABASE_SETTINGS, ...prefixed(DATABASE) } },
  { title: "Root key", settings: prefixed(ROOT_KEY) },
  { title: "Requests", settings: prefixed(REQUESTS) },
  { title: "Outgoing calls and mail", settings: prefixed(OUTGOING) },
  { title: "Tenants' code", settings: prefixed(SANDBOX) },
  { title: "Logs and reports", settings: prefixed(RECORDS) },
  { title: "Sending the log on", settings: prefixed(SINKS) },
  { title: "Buckets", settings: prefixed(BUCKETS) },
  { title: "People", settings: prefixed(PEOPLE) },
];

function prefixed(settings: Readonly<Record<string, Setting>>): Readonly<Record<string, Setting>> {
  return Object.fromEntries(Object.entries(settings).map(([name, setting]) => [`CLOAKROOM_${name}`, setting]));
}
