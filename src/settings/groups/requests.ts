import { DOCUMENTED_POINTS, WINDOW_SECONDS } from "../../rate-limits/rate-scope.js";
import { optional, secret, whole } from "../setting.js";

const MB = 1024 * 1024;

export const REQUESTS = {
  BODY_LIMIT_BYTES: whole(
    5 * MB,
    [1_024, 100 * MB],
    "Largest request body in bytes. `/proxy` has limits of its own: 5 MB for text, which is searched for references, and for bodies that a transform reads. Other bodies stream through it.",
  ),
  RATE_LIMITS: optional(
    "`off`, or `scope=requests` separated by commas",
    `\`${documentedLimits()}\``,
    `Requests of one client in ${WINDOW_SECONDS} seconds, by scope. Scopes that are left out keep their default.`,
  ),
  REDIS_URL: secret(
    "`redis://` or `rediss://` URL",
    "each server counts by itself",
    "Valkey or Redis in which replicas share the counters of rate limits and sign-ins.",
  ),
};

/** The default limits, in the form of `CLOAKROOM_RATE_LIMITS`. */
function documentedLimits(): string {
  return Object.entries(DOCUMENTED_POINTS)
    .map(([scope, requests]) => `${scope}=${requests}`)
    .join(",");
}
