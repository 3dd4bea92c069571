import { StreamingConnectTransport } from "../connect-streams.js";
import { AttemptError } from "../errors.js";
import type { Attempt, AttemptAnswer } from "../transport.js";
import { codeOf, connectFailure, isTlsFailure } from "./connection-errors.js";

/** Calls over Connect and Node's fetch, whose errors have those of the socket as their cause. */
export class FetchTransport extends StreamingConnectTransport {
  readonly #baseUrl: URL;

  constructor(baseUrl: URL, fetcher?: typeof fetch) {
    super(baseUrl, fetcher);
    this.#baseUrl = baseUrl;
  }

  override async send(attempt: Attempt): Promise<AttemptAnswer> {
    try {
      return await super.send(attempt);
    } catch (error) {
      throw explained(error, this.#baseUrl);
    }
  }

  override async *open(attempt: Attempt): AsyncGenerator<unknown, void> {
    try {
      yield* super.open(attempt);
    } catch (error) {
      throw explained(error, this.#baseUrl);
    }
  }
}

/** The same error, or for TLS the one that says what to change. */
function explained(error: unknown, baseUrl: URL): unknown {
  const cause = error instanceof AttemptError ? error.failure.cause : undefined;
  const inner = cause instanceof Error ? cause.cause : undefined;
  if (!isTlsFailure(codeOf(inner))) return error;
  return connectFailure(inner, baseUrl, "Name the file of its authority in NODE_EXTRA_CA_CERTS.");
}
