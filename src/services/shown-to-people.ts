import type { Caller } from "../access/caller.js";
import type { Json } from "../base/json.js";

/** Configuration as a caller may see it: people see its names, not its values, which may be credentials of partners. */
export function shownConfiguration<Value extends Json>(
  { principal }: Caller,
  configuration: Readonly<Record<string, Value>>,
): Record<string, Value | ""> {
  if (principal.kind === "application") return { ...configuration };
  return Object.fromEntries(Object.keys(configuration).map((name) => [name, ""]));
}

/** Whether a caller may see the key of a proxy: an AUDITOR never, and a DEVELOPER only of proxies that it created. */
export function maySeeProxyKey({ principal }: Caller, createdBy: string | null): boolean {
  if (principal.kind === "application") return true;
  if (principal.role === "DEVELOPER") return createdBy === principal.userId;
  return principal.role !== "AUDITOR";
}
