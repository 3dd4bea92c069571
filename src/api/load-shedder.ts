import type { IncomingMessage, ServerResponse } from "node:http";
import type { Fault } from "../base/fault.js";
import { isRpc, refuseRequest } from "./refuse-request.js";

/** Answers an excess request, or returns false for one to serve. */
export type LoadShedder = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Judges load by the tenant of a key: see `overloadFault` of the transaction batcher. */
export interface OverloadCheck {
  /** The refusal for the key's holder; undefined while there is room, and for an unknown key. */
  overloadFault(apiKey: string): Fault | undefined;
}

/**
 * Refuses requests with a BT-API-KEY, except RPC calls, before the router, hooks and log, while their tenant overloads
 * the server or the queue of all tenants is full. A refusal costs 30 us here and 95 behind the router: at a third of
 * the cost of serving, refusals would saturate the server at twice its capacity. RPC calls are refused after
 * authentication (`requireRoom`), in the form of their protocol.
 * @param begin assigns the request its trace id, and the response its headers.
 * @param onShed called for each request that is refused.
 */
export function createLoadShedder(
  overload: OverloadCheck,
  begin: (request: IncomingMessage, response: ServerResponse) => string,
  onShed: () => void,
): LoadShedder {
  return (request, response) => {
    const apiKey = request.headers["bt-api-key"];
    if (typeof apiKey !== "string" || isRpc(request)) return false;
    const fault = overload.overloadFault(apiKey);
    if (!fault) return false;
    refuseRequest(request, response, fault, begin(request, response));
    onShed();
    return true;
  };
}
