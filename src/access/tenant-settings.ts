import type { JsonObject } from "../base/json.js";

/** A tenant's settings. The API shows each as the text "true" or "false". */
export interface TenantSettings {
  /** All tokens are fingerprinted with their type's expression. */
  readonly fingerprint_tokens: boolean;
  /** Refuses proxies without a key of their own. */
  readonly disable_ephemeral_proxy: boolean;
  /** Stores tokens with the same content once. */
  readonly deduplicate_tokens: boolean;
  /** Denies responses with values in the clear to requests without a reason. */
  readonly require_reveal_reason: boolean;
  /** Each read of the log by the API leaves a row in it (PCI DSS 10.2.1.3). */
  readonly record_log_reads: boolean;
  /** Lets OWNER and ADMIN see values in the clear, with a second factor and a reason. */
  readonly reveal_to_people: boolean;
  /** Refuses exports with data unless two people have agreed to them. Only an operator switches it off. */
  readonly require_export_approval: boolean;
}

/** Stored settings, with defaults for those that an older version did not know. */
export function readSettings(stored: JsonObject): TenantSettings {
  const read = (name: keyof TenantSettings) => stored[name] === true;
  return {
    fingerprint_tokens: read("fingerprint_tokens"),
    disable_ephemeral_proxy: read("disable_ephemeral_proxy"),
    deduplicate_tokens: read("deduplicate_tokens"),
    require_reveal_reason: read("require_reveal_reason"),
    record_log_reads: read("record_log_reads"),
    reveal_to_people: read("reveal_to_people"),
    require_export_approval: read("require_export_approval"),
  };
}
