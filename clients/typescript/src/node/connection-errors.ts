import { AttemptError } from "../errors.js";

const BEHIND_PROXY = 'Set transport: "connect" if a proxy in between speaks HTTP/1.1 only.';

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

const ALERT = /^ERR_SSL_.*ALERT/;
const OTHER_TLS = /^ERR_SSL|EPROTO/;
const NOT_TRUSTED = /CERT|^UNABLE_TO|SELF_SIGNED|^ERR_TLS/;
const CLOSED = /^(ECONNRESET|EPIPE|ECONNABORTED)$/;

/**
 * What OpenSSL makes of a first record that is not one of TLS, such as an HTTP response or an SSH banner. Over TLS 1.2 text
 * in the clear has the same code later too; such a call is not sent again.
 */
const NO_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|HTTPS_PROXY_REQUEST)$/;
/** Reasons of OpenSSL that only a handshake has: no version, cipher, group or signature in common, and bad hellos. */
const NOTHING_IN_COMMON = new Set(
  `UNSUPPORTED_PROTOCOL NO_PROTOCOLS_AVAILABLE UNSUPPORTED_SSL_VERSION VERSION_TOO_LOW VERSION_TOO_HIGH WRONG_SSL_VERSION
  BAD_PROTOCOL_VERSION_NUMBER NO_CIPHERS_AVAILABLE NO_SHARED_CIPHER NO_CIPHER_MATCH UNKNOWN_CIPHER_RETURNED
  WRONG_CIPHER_RETURNED NO_SHARED_GROUPS NO_SUITABLE_GROUPS NO_SUITABLE_KEY_SHARE NO_SUITABLE_SIGNATURE_ALGORITHM
  NO_SUITABLE_DIGEST_ALGORITHM DH_KEY_TOO_SMALL BAD_KEY_SHARE BAD_ECPOINT WRONG_CURVE WRONG_SIGNATURE_TYPE BAD_SIGNATURE
  UNSAFE_LEGACY_RENEGOTIATION_DISABLED INAPPROPRIATE_FALLBACK BAD_HELLO_REQUEST BAD_PSK NO_APPLICATION_PROTOCOL
  CERTIFICATE_VERIFY_FAILED`
    .split(/\s+/)
    .map((reason) => `ERR_SSL_${reason}`),
);
/** Node refuses to trust the certificate. Reasons of OpenSSL itself are in the list above. */
const REFUSED_CERTIFICATE = /^(?!ERR_).*CERT|^UNABLE_TO|^ERR_TLS_CERT/;

/**
 * Whether a connection that gave no response failed in its handshake: nothing was sent, and another attempt would fail as
 * well. Other codes do not tell: a record may be damaged, and an alert of TLS 1.3 such as the demand for a certificate may
 * come, after the request was sent.
 */
export function isHandshakeFailure(code: string): boolean {
  return NO_TLS.test(code) || NOTHING_IN_COMMON.has(code) || REFUSED_CERTIFICATE.test(code);
}

/**
 * The failure of a connection that was never ready: nothing was sent on it.
 * @param trust how to trust another certificate.
 */
export function connectFailure(error: unknown, baseUrl: URL, trust = "Name its authority in tls.ca."): AttemptError {
  const code = codeOf(error);
  const failed = (message: string, isFinal: boolean) =>
    new AttemptError({ code: "connection_failed", message, didNotRun: true, isFinal, cause: error });
  if (ALERT.test(code)) {
    return failed(`${baseUrl.origin} refused the TLS handshake (${code}). It may ask for tls.cert and tls.key.`, true);
  }
  if (NO_TLS.test(code)) {
    return failed(
      `${baseUrl.origin} does not speak TLS (${code}). Check the port, or begin baseUrl with http://.`,
      true,
    );
  }
  if (OTHER_TLS.test(code)) return failed(`The TLS handshake with ${baseUrl.origin} failed (${code}).`, true);
  if (NOT_TRUSTED.test(code)) {
    return failed(`The certificate of ${baseUrl.origin} is not trusted (${code}). ${trust}`, true);
  }
  const tls = baseUrl.protocol === "http:" ? " Begin baseUrl with https:// if the server has TLS." : "";
  if (code.startsWith("ERR_HTTP2") || code === NO_HTTP2) {
    return failed(`${baseUrl.origin} responds, but not over HTTP/2. ${BEHIND_PROXY}${tls}`, true);
  }
  if (CLOSED.test(code)) return failed(`${baseUrl.origin} closed the connection (${code}).${tls}`, false);
  return failed(`The server at ${baseUrl.origin} could not be reached (${code || "no reason is known"}).`, false);
}

/** Error code of a TLS connection on which the server did not choose HTTP/2. */
export const NO_HTTP2 = "NO_HTTP2";

/** The failure of a call whose stream or connection ended before its response. */
export function lostCall(cause: unknown, didNotRun: boolean): AttemptError {
  const code = codeOf(cause);
  const message = `The connection was lost before the response came${code ? ` (${code})` : ""}.`;
  return new AttemptError({ code: "connection_failed", message, didNotRun, cause });
}
