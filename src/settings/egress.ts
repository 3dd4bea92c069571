import { EgressPolicy } from "../egress/egress-policy.js";
import { ConfigError } from "./config-error.js";

/** The operator's lists of non-public destinations to allow and of public ones to deny. */
export function readEgress(allow: string | undefined, deny: string | undefined): EgressPolicy {
  try {
    return new EgressPolicy({ allow, deny });
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : "CLOAKROOM_EGRESS_ALLOW or _DENY cannot be read.");
  }
}
