import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { Health } from "../../../gen/health/v1/health_pb.js";
import type { BeginRequest } from "../admission/begin-request.js";
import { type RouteScope, readRateScope } from "../admission/rate-gate.js";
import { type Cors, createCors } from "../browser/cors.js";
import { prepareResponse } from "../browser/prepare-response.js";
import type { ArrivedRequest, OpenResponse } from "../connection/exchange.js";
import { InFlight } from "../connection/in-flight.js";
import type { ServerOptions } from "./server-options.js";

/** Steps of every request before its route, on every path through the server. */
export interface RequestEdge {
  readonly cors: Cors;
  readonly inFlight: InFlight;
  readonly rpcScopes: ReadonlyMap<string, RouteScope>;
  /** @returns the request's trace id. */
  prepare(request: ArrivedRequest, response: OpenResponse): string;
  /** Does what the framework's hooks do, for requests that go past the framework. */
  readonly begin: BeginRequest;
}

export function createRequestEdge({ corsOrigins, services, meters, rateGate }: ServerOptions): RequestEdge {
  const cors = createCors(corsOrigins);
  const inFlight = new InFlight();
  const rpcScopes = rpcScopesOf(services);
  const prepare = (request: ArrivedRequest, response: OpenResponse) => prepareResponse(cors, request, response);
  return {
    cors,
    inFlight,
    rpcScopes,
    prepare,
    begin(request, response, { template, scope }) {
      const { method = "" } = request;
      inFlight.route(response, method, template);
      prepare(request, response);
      const start = performance.now();
      // Also counts responses whose callers disconnected.
      response.once("close", () => {
        meters.request(method, template, response.statusCode, (performance.now() - start) / 1_000);
      });
      return rateGate.pass(request, response, scope);
    },
  };
}

/** Rate-limit scope per RPC path. Health checks of load balancers are exempt. */
function rpcScopesOf(services: readonly DescService[]): ReadonlyMap<string, RouteScope> {
  const methods = [...services, ServerReflection, ServerReflectionAlpha].flatMap((service) => service.methods);
  const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`;
  return new Map([
    ...methods.map((method): [string, RouteScope] => [pathOf(method), readRateScope(method)]),
    ...Health.methods.map((method): [string, RouteScope] => [pathOf(method), "uncounted"]),
  ]);
}
