import { protectAnswer } from "./browser/answer-headers.js";
import type { ArrivedRequest, OpenResponse } from "./connection/exchange.js";
import type { Cors } from "./cors.js";
import { traceOf } from "./observation/trace.js";

/** Assigns a request its trace id, and its response the headers that all responses have. @returns the trace id. */
export function assignTraceId(cors: Cors, request: ArrivedRequest, response: OpenResponse): string {
  const traceId = traceOf(request);
  // From here on every protocol finds a well-formed header.
  request.headers["bt-trace-id"] = traceId;
  response.setHeader("bt-trace-id", traceId);
  // Responses may contain stored values, which no cache may keep. Routes and destinations override this for their own
  // answers.
  response.setHeader("cache-control", "no-store");
  protectAnswer(response);
  cors.allow(request, response);
  return traceId;
}
