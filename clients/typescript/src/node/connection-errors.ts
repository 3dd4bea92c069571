import { AttemptError } from "../errors.js";

const BEHIND_PROXY = 'Set transport: "connect" if a proxy in between speaks HTTP/1.1 only.';

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The failure of a connection that was never ready: nothing was sent on it. */
export function connectFailure(error: unknown, baseUrl: URL): AttemptError {
  const code = codeOf(error);
  const failed = (message: string, isFinal: boolean) =>
    new AttemptError({ code: "connection_failed", message, didNotRun: true, isFinal, cause: error });
  if (/^ERR_SSL|EPROTO/.test(code)) {
    return failed(
      `${baseUrl.origin} does not speak TLS as this client does (${code}). Check the port, or begin baseUrl with http://.`,
      true,
    );
  }
  if (/CERT|^UNABLE_TO|SELF_SIGNED|^ERR_TLS/.test(code)) {
    return failed(`The certificate of ${baseUrl.origin} is not trusted (${code}). Name its authority in tls.ca.`, true);
  }
  if (code.startsWith("ERR_HTTP2") || code === NO_HTTP2) {
    const other = baseUrl.protocol === "http:" ? " Begin baseUrl with https:// if the server has TLS." : "";
    return failed(`${baseUrl.origin} answers, but not over HTTP/2. ${BEHIND_PROXY}${other}`, true);
  }
  return failed(`The server at ${baseUrl.origin} could not be reached (${code || "no reason is known"}).`, false);
}

/** Error code of a TLS connection on which the server did not choose HTTP/2. */
export const NO_HTTP2 = "NO_HTTP2";

/** The failure of a call whose stream or connection ended before its answer. */
export function lostCall(cause: unknown, didNotRun: boolean): AttemptError {
  const code = codeOf(cause);
  const message = `The connection was lost before the answer came${code ? ` (${code})` : ""}.`;
  return new AttemptError({ code: "connection_failed", message, didNotRun, cause });
}
