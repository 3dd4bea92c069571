// The entry for Node: all resources, over gRPC on one HTTP/2 connection.
import { checkTimeout } from "./deadline.js";
import { AllResources } from "./generated/all-resources.js";
import { TokenExports } from "./generated/resources/token-exports.js";
import { ClosableCalls } from "./node/closable-calls.js";
import { fetchTransport } from "./node/fetch-transport.js";
import { Http2Transport } from "./node/http2-transport.js";
import { checkedBaseUrl, misuse, type NodeOptions } from "./options.js";

export * from "./public-types.js";
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./verify-webhook.js";

const VERSION = "0.1.0";

/** A client. It connects at the first call, and again when the connection is lost. */
export class Cloakroom extends AllResources {
  /** For people who are signed in, as the command line calls it: keys may not. */
  readonly tokenExports: TokenExports = new TokenExports(this.calls);
  readonly #calls: ClosableCalls;

  constructor(options: NodeOptions = {}) {
    const { tls, transport = "grpc", apiKey = process.env.CLOAKROOM_API_KEY, timeout = 0 } = options;
    checkTimeout(timeout);
    if (transport === "connect" && tls)
      throw misuse("tls is for the transport grpc. Give Node NODE_EXTRA_CA_CERTS, or your own fetch.");
    const url = checkedBaseUrl(options.baseUrl ?? process.env.CLOAKROOM_URL, options.allowInsecure);
    const userAgent = `cloakroom-node/${VERSION} node/${process.versions.node.split(".")[0]}`;
    const calls = new ClosableCalls(
      transport === "connect" ? fetchTransport(url, options.fetch) : new Http2Transport(url, tls ?? {}, userAgent),
      { ...options, apiKey: trimmed(apiKey) },
    );
    super(calls);
    this.#calls = calls;
  }

  /** Ends streams, waits for calls under way, for five seconds at most, and closes the connection. Later calls fail. */
  close(): Promise<void> {
    return this.#calls.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Keys in files and mounted secrets often end in a line break. */
function trimmed(apiKey: NodeOptions["apiKey"]): NodeOptions["apiKey"] {
  return typeof apiKey === "function" ? async () => (await apiKey()).trim() : apiKey?.trim();
}
