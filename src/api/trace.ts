import { newUuid } from "../base/ids.js";

const FORM = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's own trace id where it is one, else a new one. It goes into answers and the operator's log. */
export function traceIdOf(sent: string | undefined): string {
  return sent !== undefined && FORM.test(sent) ? sent : newUuid();
}
