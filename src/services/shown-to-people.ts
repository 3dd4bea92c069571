import type { Caller } from "../access/caller.js";
import { heldPowers } from "../access/power.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import type { ConfiguredProxy } from "../proxy/proxy.js";

/** Configuration as a caller may see it: people see its names, not its values, which may be credentials of partners. */
export function shownConfiguration<Value extends Json>(
  { principal }: Caller,
  configuration: Readonly<Record<string, Value>>,
): Record<string, Value | ""> {
  if (principal.kind === "application") return { ...configuration };
  return Object.fromEntries(Object.keys(configuration).map((name) => [name, ""]));
}

/**
 * Whether a caller may see the key of a proxy: an AUDITOR never, and a DEVELOPER only of proxies that it created. The key
 * of one that acts as an application is a key of that application, which people see with a second factor only.
 */
export function maySeeProxyKey(
  caller: Caller,
  { createdBy, applicationId, definition }: Pick<ConfiguredProxy, "createdBy" | "applicationId" | "definition">,
): boolean {
  const { principal } = caller;
  if (principal.kind === "application") return true;
  const { requestReactorId, responseReactorId } = definition;
  const actsByItself = applicationId ?? requestReactorId ?? responseReactorId;
  if (actsByItself !== undefined && !heldPowers(caller).has("administer")) return false;
  if (principal.role === "DEVELOPER") return createdBy === principal.userId;
  return principal.role !== "AUDITOR";
}

/**
 * An event as a caller may see it. A person who lists no tokens learns no fingerprint: an application that creates tokens
 * of guesses, as a DEVELOPER makes it, would find the one that has the same.
 */
export function shownEvent({ principal, grant }: Caller, event: JsonObject): JsonObject {
  const { data } = event;
  if (principal.kind === "application" || grant.holds("token:read") || !isJsonObject(data)) return event;
  const { token } = data;
  if (!isJsonObject(token)) return event;
  const { fingerprint: _, ...shown } = token;
  return { ...event, data: { ...data, token: shown } };
}
