import type { IncomingMessage } from "node:http";
import { newUuid } from "../../base/ids.js";
import type { ParentSpan } from "../../telemetry/ended-operation.js";

const FORM = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's trace id if it is valid, otherwise a new one. Responses and the operator's log have it. */
export function traceIdOf(sent: string | undefined): string {
  return sent !== undefined && FORM.test(sent) ? sent : newUuid();
}

/** The trace id of a request, which the server sets in its header on arrival. */
export function traceOf({ headers }: Pick<IncomingMessage, "headers">): string {
  const sent = headers["bt-trace-id"];
  return traceIdOf(Array.isArray(sent) ? sent[0] : sent);
}

/** The caller's span of a request (W3C Trace Context), unparsed. Undefined without one. */
export function parentSpanOf(header: (name: string) => string | undefined): ParentSpan | undefined {
  const traceparent = header("traceparent");
  return traceparent === undefined ? undefined : { traceparent, tracestate: header("tracestate") };
}

/** As {@link parentSpanOf}, for a request as Node parses it: repeated headers are joined, and then name no span. */
export function parentSpanIn({ headers }: Pick<IncomingMessage, "headers">): ParentSpan | undefined {
  return parentSpanOf((name) => {
    const sent = headers[name];
    return Array.isArray(sent) ? sent.join() : sent;
  });
}
