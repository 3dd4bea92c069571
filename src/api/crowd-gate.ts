import type { IncomingMessage, ServerResponse } from "node:http";
import type { Fault } from "../base/fault.js";
import { isRpc, refuseRequest } from "./refuse-request.js";

/** Answers a request that is one too many, or gives false: it is to be served. */
export type CrowdGate = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface Crowd {
  /** Why the holder of a key is turned away now; undefined while there is room, and for a key that is not known. */
  refusalOf(apiKey: string): Fault | undefined;
}

/**
 * Turns REST requests away before the router, the hooks and the log have seen them, while their tenant sends more than is
 * served: that takes 30 us in place of 95. Were it a third of the cost of serving them, the server would be busy with turning
 * away at twice what it can serve. Calls over RPC protocols are turned away a little later, in their own protocol's words.
 *
 * @param begin gives the request its trace id, and the answer its headers.
 * @param onTurnedAway told of each.
 */
export function createCrowdGate(
  crowd: Crowd,
  begin: (request: IncomingMessage, response: ServerResponse) => string,
  onTurnedAway: () => void,
): CrowdGate {
  return (request, response) => {
    const apiKey = request.headers["bt-api-key"];
    if (typeof apiKey !== "string" || isRpc(request)) return false;
    const fault = crowd.refusalOf(apiKey);
    if (!fault) return false;
    refuseRequest(request, response, fault, begin(request, response));
    onTurnedAway();
    return true;
  };
}

/** Tells of what happens often no more than once a second: how often it happened since. */
export function summed(tell: (times: number) => void): () => void {
  let times = 0;
  return () => {
    times += 1;
    if (times > 1) return;
    setTimeout(() => {
      tell(times);
      times = 0;
    }, 1_000).unref();
  };
}
