import type { IncomingMessage } from "node:http";
import { newUuid } from "../base/ids.js";
import type { ParentSpan } from "../telemetry/ended-operation.js";

const FORM = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's own trace id where it is one, else a new one. It goes into answers and the operator's log. */
export function traceIdOf(sent: string | undefined): string {
  return sent !== undefined && FORM.test(sent) ? sent : newUuid();
}

/** The trace id of a request, which the server puts into its header as soon as it comes in. */
export function traceOf({ headers }: Pick<IncomingMessage, "headers">): string {
  const sent = headers["bt-trace-id"];
  return traceIdOf(Array.isArray(sent) ? sent[0] : sent);
}

/** The span of the caller that a request belongs to (W3C Trace Context), unread. Undefined where it names none. */
export function parentSpanOf(header: (name: string) => string | undefined): ParentSpan | undefined {
  const traceparent = header("traceparent");
  return traceparent === undefined ? undefined : { traceparent, tracestate: header("tracestate") };
}

/** As {@link parentSpanOf}, of a request as Node reads it: headers that were sent twice are joined, and name no span then. */
export function parentSpanIn({ headers }: Pick<IncomingMessage, "headers">): ParentSpan | undefined {
  return parentSpanOf((name) => {
    const sent = headers[name];
    return Array.isArray(sent) ? sent.join() : sent;
  });
}
