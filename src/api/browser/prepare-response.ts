import type { ArrivedRequest, OpenResponse } from "../connection/exchange.js";
import { requestTraceId } from "../observation/trace.js";
import type { Cors } from "./cors.js";
import { setSecurityHeaders } from "./security-headers.js";

/**
 * Gives a response the headers that all responses have: trace id, no caching, the protection of the origin, CORS.
 * @returns the trace id.
 */
export function prepareResponse(cors: Cors, request: ArrivedRequest, response: OpenResponse): string {
  const traceId = requestTraceId(request);
  // From here on every protocol finds a well-formed header.
  request.headers["bt-trace-id"] = traceId;
  response.setHeader("bt-trace-id", traceId);
  // Responses may contain stored values, which no cache may keep. Routes and destinations override this for their own
  // responses.
  response.setHeader("cache-control", "no-store");
  setSecurityHeaders(response);
  cors.allow(request, response);
  return traceId;
}
