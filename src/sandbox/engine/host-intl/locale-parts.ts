import type { JsonObject } from "../../../base/json.js";

export function localeParts(tag: string, options: JsonObject): JsonObject {
  const locale = new Intl.Locale(tag, options);
  const { baseName, language, script, region, calendar, caseFirst, collation, hourCycle, numberingSystem, numeric } =
    locale;
  const parts: Record<string, string | boolean | undefined> = {
    baseName,
    language,
    script,
    region,
    calendar,
    caseFirst,
    collation,
    hourCycle,
    numberingSystem,
    numeric,
    tag: locale.toString(),
    maximized: locale.maximize().toString(),
    minimized: locale.minimize().toString(),
  };
  const json: JsonObject = {};
  for (const [name, value] of Object.entries(parts)) if (value !== undefined) json[name] = value;
  return json;
}
