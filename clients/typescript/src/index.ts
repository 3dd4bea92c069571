// The entry for everything but Node: all resources, over Connect with JSON.
import { Calls } from "./calls.js";
import { ConnectTransport } from "./connect-transport.js";
import { AllResources } from "./generated/all-resources.js";
import { checkedBaseUrl, misuse, type NodeOptions, refuseSecretKey } from "./options.js";

export * from "./public-types.js";
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./verify-webhook.js";

/** A client. In Node it calls over gRPC; elsewhere over Connect, where pages may use public and session keys only. */
export class Cloakroom extends AllResources {
  constructor(options: NodeOptions = {}) {
    if (options.tls || options.transport === "grpc") throw misuse("tls and the transport grpc are for Node.");
    const url = checkedBaseUrl(options.baseUrl, options.allowInsecure);
    super(new Calls(new ConnectTransport(url, options.fetch), options, isPage() ? refuseSecretKey : undefined));
  }

  /** For programs that also run in Node: there is no connection to close here, and calls end by themselves. */
  async close(): Promise<void> {}
}

/** Deno, Bun and edge workers of servers may have the keys of back ends; workers of browsers have a `navigator` of theirs. */
function isPage(): boolean {
  return "document" in globalThis;
}
