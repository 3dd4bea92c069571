import { buffer } from "node:stream/consumers";
import { StampFailed, type TimeStampAuthority } from "../audit/chain/stamp-seals.js";
import type { Clock } from "../base/clock.js";
import { TimeStampInvalid } from "../crypto/time-stamp-invalid.js";
import { EgressError } from "../egress/egress-error.js";
import { createGuardedAgents } from "../egress/guarded-agents.js";
import { guardedRequest } from "../egress/guarded-request.js";
import type { TimeStampConfig } from "../settings/time-stamps.js";

const TIMEOUT_MS = 20_000;
/** Tokens have some kilobytes, with certificates. */
const MAX_BYTES = 256 * 1024;
/** A time stamp that is further from this server's clock is of another request, or one of the clocks is wrong. */
const MAX_APART_MS = 10 * 60_000;

/** The authority over HTTP (RFC 3161, section 3.4), through the guard of outgoing calls. */
export function timeStampAuthority(
  { url, trusted, policy, egress }: TimeStampConfig,
  clock: Clock,
): TimeStampAuthority {
  const agents = createGuardedAgents(egress, { maxSockets: 1 });
  return {
    async stamp(imprint, signal) {
      // Few vaults have an authority: the libraries of certificates are loaded for those.
      const { timeStampQuery, tokenOfReply } = await import("../crypto/time-stamp.js");
      const query = timeStampQuery(imprint, policy);
      try {
        const response = await guardedRequest(agents, {
          url,
          method: "POST",
          body: query.bytes,
          pool: "time stamps",
          signal,
          maxBodyBytes: MAX_BYTES,
          headers: [["content-type", "application/timestamp-query"]],
          timeouts: { headersMs: TIMEOUT_MS, bodyIdleMs: TIMEOUT_MS },
        });
        const reply = await buffer(response.body);
        if (response.status !== 200) throw new StampFailed(`the authority responds with status ${response.status}`);
        const stamp = tokenOfReply(reply, query, trusted);
        if (Math.abs(stamp.time.getTime() - clock.now()) > MAX_APART_MS) {
          throw new StampFailed("the authority's clock and this server's are more than 10 minutes apart");
        }
        return stamp;
      } catch (error) {
        if (error instanceof TimeStampInvalid) throw new StampFailed(`the time stamp is not valid: ${error.message}`);
        if (error instanceof EgressError) throw new StampFailed(`the authority cannot be reached (${error.reason})`);
        throw error;
      }
    },
  };
}
