import type { Readable } from "node:stream";
import type { Caller } from "../access/caller.js";
import type { AuditContext } from "../audit/audit-context.js";
import type { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import type { HeaderPair } from "../egress/request-framing.js";
import type { RequestMemory } from "../memory/request-memory.js";
import type { LoadedProxy } from "./load-proxy.js";

export interface ProxyCall {
  readonly method: string;
  /** The raw path behind /proxy: empty, or with its leading slash. */
  readonly path: string;
  /** The raw query: empty, or with its leading question mark. */
  readonly query: string;
  /** In their original case and order. */
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
  readonly apiKey: string | undefined;
  readonly target: ProxyTarget | undefined;
  readonly signal: AbortSignal;
  /** Memory for the caller's and the destination's bodies. */
  readonly memory: RequestMemory;
  /** What the request tells log rows, and why its reason is not accepted. */
  readonly audit: { readonly context: AuditContext; readonly badReason: Fault | undefined };
  /** Called with the owner of the call once it is known, and again after each reload. */
  readonly onOwner?: (owner: CallOwner) => void;
}

/**
 * The tenant of a call, and the caller whose rights apply: none for a proxy that requires no key and has no
 * application.
 */
export interface CallOwner {
  readonly tenantId: TenantId;
  readonly caller: Caller | undefined;
  /** The caller of the request's own key, if that is valid. */
  readonly keyHolder: Caller | undefined;
  /** Undefined for an ephemeral proxy. */
  readonly proxy: LoadedProxy | undefined;
}

export type ProxyTarget =
  | { readonly kind: "configured"; readonly key: string }
  /** Named by a URL in the request. */
  | { readonly kind: "ephemeral"; readonly url: string };

export interface ProxyResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
  /** The destination's own status. */
  readonly destinationStatus: number;
}
