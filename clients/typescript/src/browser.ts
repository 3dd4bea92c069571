// The thin entry: what public and session keys may call, over Connect with JSON. No protobuf, below 6 KB gzip.
import { Calls } from "./calls.js";
import { ConnectTransport } from "./connect-transport.js";
import { BrowserResources } from "./generated/browser-resources.js";
import { type CloakroomOptions, checkedBaseUrl, refuseSecretKey } from "./options.js";

export * from "./public-types.js";

/** A client for pages. Keys of back ends are refused. */
export class Cloakroom extends BrowserResources {
  constructor(options: CloakroomOptions) {
    const url = checkedBaseUrl(options.baseUrl, options.allowInsecure);
    super(new Calls(new ConnectTransport(url, options.fetch), options, isPage() ? refuseSecretKey : undefined));
  }
}

function isPage(): boolean {
  return "document" in globalThis || "WorkerGlobalScope" in globalThis;
}
