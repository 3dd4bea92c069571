import { EgressPolicy } from "../egress/egress-policy.js";
import { ConfigError } from "./environment.js";

/** The operator's lists of what may be reached although it is not public, and of what may not. */
export function readEgress(allow: string | undefined, deny: string | undefined): EgressPolicy {
  try {
    return new EgressPolicy({ allow, deny });
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : "CLOAKROOM_EGRESS_ALLOW or _DENY cannot be read.");
  }
}
