import type { IncomingMessage, ServerResponse } from "node:http";
import { protectAnswer } from "./browser/answer-headers.js";
import type { Cors } from "./cors.js";
import { traceOf } from "./trace.js";

/** Gives a request its trace id, and its answer the headers that every answer has. @returns the trace id. */
export function admitRequest(cors: Cors, request: IncomingMessage, response: ServerResponse): string {
  const traceId = traceOf(request);
  // From here on the header is there and well-formed, for every protocol.
  request.headers["bt-trace-id"] = traceId;
  response.setHeader("bt-trace-id", traceId);
  // Answers may hold stored values, which no cache may keep. A route or a destination replaces this for its own answers.
  response.setHeader("cache-control", "no-store");
  protectAnswer(response);
  cors.allow(request, response);
  return traceId;
}
