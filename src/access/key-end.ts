import { invalid } from "../base/fault.js";
import type { Caller } from "./caller.js";

/*
 * No key, session or pass works longer than the key that made it: otherwise the holder of a key that ends could make one
 * that does not. What people make outlives their sign-in.
 */

type Maker = Pick<Caller, "principal" | "endsAt">;

/** The end of the caller's key. Undefined: it has none. */
function keyEnd({ principal, endsAt }: Maker): Date | undefined {
  return principal.kind === "application" ? endsAt : undefined;
}

/**
 * The end of a key or session that the caller makes.
 * @param wanted the one that the request asks for; undefined: that of the caller's key.
 * @throws {Fault} validation_failed naming expires_at if the wanted one is later than that of the caller's key.
 */
export function endWithin(caller: Maker, wanted: Date | undefined): Date | undefined {
  const latest = keyEnd(caller);
  if (!latest || !wanted || wanted <= latest) return wanted ?? latest;
  throw invalid("expires_at", `must be at most ${latest.toISOString()}, when the key used ends`);
}

/** The earlier of a usual end and that of the caller's key. */
export function usualEnd(caller: Maker, usual: Date): Date {
  const latest = keyEnd(caller);
  return latest && latest < usual ? latest : usual;
}
