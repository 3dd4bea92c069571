import type { IncomingMessage, ServerResponse } from "node:http";
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { RateScope as ProtoScope, policy } from "../../gen/cloakroom/v1/options_pb.js";
import { Fault } from "../base/fault.js";
import type { RateLimits, RateVerdict } from "../rate-limits/rate-limits.js";
import type { RateScope } from "../rate-limits/rate-scope.js";
import type { ReadClient } from "./client-address.js";

/** `uncounted` are the questions of load balancers, which all come from one address. */
export type RouteScope = RateScope | "uncounted" | undefined;

declare module "fastify" {
  interface FastifyContextConfig {
    /** What requests of this route are counted as, beside `global`. */
    rateScope?: RouteScope;
  }
}

/** Counts a request before anything of it is looked at, and remembers where it is one too many. */
export interface RateGate {
  /** Adds the headers that tell how the client stands. Resolves to why the request is refused. */
  pass(request: IncomingMessage, response: ServerResponse, scope: RouteScope): Promise<Fault | undefined>;
}

export const openGate: RateGate = { pass: async () => undefined };

/** @param onRefused told of each request that is one too many. */
export function createRateGate(
  limits: RateLimits,
  readClient: ReadClient,
  onRefused: (verdict: RateVerdict) => void,
): RateGate {
  return {
    async pass(request, response, scope) {
      if (scope === "uncounted") return undefined;
      const verdict = await limits.count(readClient(request), scope);
      response.setHeader("ratelimit-limit", verdict.limit);
      response.setHeader("ratelimit-remaining", verdict.remaining);
      response.setHeader("ratelimit-reset", verdict.resetAfter);
      if (!verdict.isExceeded) return undefined;
      onRefused(verdict);
      const fault = tooMany(verdict);
      refusals.set(request, fault);
      return fault;
    },
  };
}

const refusals = new WeakMap<IncomingMessage, Fault>();

/** Why a request is refused that its own protocol has to answer. */
export function rateRefusalOf(request: IncomingMessage): Fault | undefined {
  return refusals.get(request);
}

/** What a method is counted as: its policy says so, and every way to call it shares the counter. */
export function rateScopeOf(method: DescMethod): RateScope | undefined {
  switch (getOption(method, policy).rateScope) {
    case ProtoScope.TOKEN_READ:
      return "token_read";
    case ProtoScope.TOKEN_WRITE:
      return "token_write";
    case ProtoScope.TOKEN_SEARCH:
      return "token_search";
    case ProtoScope.UNSPECIFIED:
      return undefined;
  }
}

function tooMany({ limit, resetAfter }: RateVerdict): Fault {
  const detail = `More than ${limit} requests in 10 seconds from one address. Try again in ${resetAfter} seconds.`;
  return new Fault("rate_limited", detail, { retryAfter: resetAfter });
}
