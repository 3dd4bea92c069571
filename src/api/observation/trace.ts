import type { IncomingMessage } from "node:http";
import { newUuid } from "../../base/ids.js";
import { joinedHeader } from "../../base/joined-header.js";
import type { ParentSpan } from "../../telemetry/ended-operation.js";

const FORM = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's trace id if it is valid, otherwise a new one. Responses and the operator's log have it. */
export function chooseTraceId(sent: string | undefined): string {
  return sent !== undefined && FORM.test(sent) ? sent : newUuid();
}

/** The trace id of a request, which the server sets in its header on arrival. */
export function requestTraceId(request: Pick<IncomingMessage, "headers">): string {
  return chooseTraceId(joinedHeader(request, "bt-trace-id"));
}

/** What a request says of the trace that it belongs to, for its observation. */
export function readTrace(request: Pick<IncomingMessage, "headers">) {
  return { traceId: requestTraceId(request), parent: parentSpanIn(request) };
}

/** The caller's span of a request (W3C Trace Context), unparsed. Undefined without one. A repeated header names no span. */
export function parentSpanIn(request: Pick<IncomingMessage, "headers">): ParentSpan | undefined {
  const traceparent = joinedHeader(request, "traceparent");
  return traceparent === undefined ? undefined : { traceparent, tracestate: joinedHeader(request, "tracestate") };
}
