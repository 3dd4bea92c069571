import type { IncomingMessage } from "node:http";
import { newUuid } from "../base/ids.js";

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
