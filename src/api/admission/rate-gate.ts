import type { DescMethod } from "@bufbuild/protobuf";
import { RateScope as ProtoScope } from "../../../gen/cloakroom/v1/options_pb.js";
import { Fault } from "../../base/fault.js";
import type { RateLimits, RateVerdict } from "../../rate-limits/rate-limits.js";
import type { RateScope } from "../../rate-limits/rate-scope.js";
import { methodPolicy } from "../../services/method-policy.js";
import type { ReadClient } from "../connection/client-address.js";
import type { ArrivedRequest, OpenResponse } from "../connection/exchange.js";

/** `uncounted` is for health checks of load balancers, which all come from one address. */
export type RouteScope = RateScope | "uncounted" | undefined;

declare module "fastify" {
  interface FastifyContextConfig {
    /** The scope for requests of this route, beside `global`. */
    rateScope?: RouteScope;
  }
}

export interface RateGate {
  /**
   * Adds the headers with the client's rate-limit state. Resolves to the refusal, if any. Undefined: nothing is counted.
   */
  pass(request: ArrivedRequest, response: OpenResponse, scope: RouteScope): Promise<Fault | undefined> | undefined;
}

export const unlimitedRateGate: RateGate = { pass: () => undefined };

/** @param onRefused called for each refused request. */
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

const refusals = new WeakMap<ArrivedRequest, Fault>();

export function findRateRefusal(request: ArrivedRequest): Fault | undefined {
  return refusals.get(request);
}

/** The scope of a method by its policy, shared by every way to call it. */
export function readRateScope(method: DescMethod): RateScope | undefined {
  switch (methodPolicy(method).rateScope) {
    case ProtoScope.TOKEN_READ:
      return "token_read";
    case ProtoScope.TOKEN_WRITE:
      return "token_write";
    case ProtoScope.TOKEN_SEARCH:
      return "token_search";
    case ProtoScope.TOKEN_BULK:
      return "token_bulk";
    case ProtoScope.UNSPECIFIED:
      return undefined;
  }
}

function tooMany({ limit, resetAfter }: RateVerdict): Fault {
  const detail = `More than ${limit} requests in 10 seconds from one address. Try again in ${resetAfter} seconds.`;
  return new Fault("rate_limited", detail, { retryAfter: resetAfter });
}
