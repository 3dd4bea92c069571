import { StreamingConnectTransport } from "./connect-streams.js";
import { codeOf, connectFailure, isHandshakeFailure } from "./connection-errors.js";

/** Calls over Connect and Node's fetch, whose errors have those of the socket as their cause. */
export function fetchTransport(
  baseUrl: URL,
  fetcher: typeof fetch = (input, init) => fetch(input, init),
): StreamingConnectTransport {
  return new StreamingConnectTransport(baseUrl, async (input, init) => {
    try {
      return await fetcher(input, init);
    } catch (error) {
      const inner = error instanceof Error ? error.cause : undefined;
      if (!isHandshakeFailure(codeOf(inner))) throw error;
      throw connectFailure(inner, baseUrl, "Name the file of its authority in NODE_EXTRA_CA_CERTS.");
    }
  });
}
