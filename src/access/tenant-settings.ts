import type { JsonObject } from "../base/json.js";

/** A tenant's settings. The interface shows each as the text "true" or "false". */
export interface TenantSettings {
  /** All tokens are fingerprinted with their type's expression. */
  readonly fingerprint_tokens: boolean;
  /** Proxies without a key of their own are refused. */
  readonly disable_ephemeral_proxy: boolean;
  /** Tokens of the same content are folded into one. */
  readonly deduplicate_tokens: boolean;
}

/** Settings as they are stored: what an older version did not know has its default. */
export function readSettings(stored: JsonObject): TenantSettings {
  const read = (name: keyof TenantSettings) => stored[name] === true;
  return {
    fingerprint_tokens: read("fingerprint_tokens"),
    disable_ephemeral_proxy: read("disable_ephemeral_proxy"),
    deduplicate_tokens: read("deduplicate_tokens"),
  };
}
