import type { IncomingMessage, ServerResponse } from "node:http";
import { type CallerTurns, runFor } from "../../base/caller-turns.js";
import type { Fault } from "../../base/fault.js";
import { unavailable } from "../../base/fault.js";
import { isRpc, refuseRequest } from "./refuse-request.js";

/** Answers an excess request, or returns false for one to serve. */
export type LoadShedder = (request: IncomingMessage, response: ServerResponse, caller: CallerTurns) => boolean;

/** Judges load by the tenant of a key: see `overloadFault` of the transaction batcher. */
export interface OverloadCheck {
  /** The refusal for the key's holder; undefined while there is room, and for an unknown key. */
  overloadFault(apiKey: string): Fault | undefined;
}

/** Whether a request of a caller may wait for its turn: see `TurnGate`. */
export interface WaitingSlots {
  hasSlot(caller: CallerTurns): boolean;
}

/** Created once, because a new error per request would cost more than its rejection. */
const TOO_BUSY = unavailable("more requests arrive than the server can handle");

/**
 * Refuses requests for which no place is left, and those with a BT-API-KEY, except RPC calls, while their tenant
 * overloads the server or the queue of all tenants is full: before the router, hooks and log. A refusal costs 30 us here
 * and 95 behind the router: at a third of the cost of serving, refusals would saturate the server at twice its capacity.
 * RPC calls are refused after authentication (`requireRoom`), in the form of their protocol.
 * @param begin assigns the request its trace id, and the response its headers.
 * @param onShed called for each request that is refused.
 */
export function createLoadShedder(
  overload: OverloadCheck,
  slots: WaitingSlots,
  begin: (request: IncomingMessage, response: ServerResponse) => string,
  onShed: () => void,
): LoadShedder {
  const faultOf = (request: IncomingMessage, caller: CallerTurns): Fault | undefined => {
    if (!slots.hasSlot(caller)) return TOO_BUSY;
    const apiKey = request.headers["bt-api-key"];
    return typeof apiKey !== "string" || isRpc(request) ? undefined : overload.overloadFault(apiKey);
  };
  return (request, response, caller) => {
    const fault = faultOf(request, caller);
    if (!fault) return false;
    runFor(caller, () => refuseRequest(request, response, fault, begin(request, response)));
    onShed();
    return true;
  };
}
