import type { Readable } from "node:stream";
import type { Caller } from "../access/caller.js";
import type { TenantId } from "../base/ids.js";
import type { HeaderPair } from "../egress/request-framing.js";
import type { RequestMemory } from "../memory/memory-lease.js";
import type { LoadedProxy } from "./load-proxy.js";

/** A request that is to go through a proxy. */
export interface ProxyCall {
  readonly method: string;
  /** Behind /proxy: empty, or with its leading slash, as it came. */
  readonly path: string;
  /** Empty, or with its leading question mark, as it came. */
  readonly query: string;
  /** In the case and order in which they came. */
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
  readonly apiKey: string | undefined;
  readonly target: ProxyTarget | undefined;
  readonly signal: AbortSignal;
  /** What may be kept of bodies, the caller's and the destination's. */
  readonly memory: RequestMemory;
  /** Told whose call this is as soon as that is known, and again whenever it is read anew. */
  readonly onOwner?: (owner: CallOwner) => void;
}

/** Whose tenant a call is of, and under whose rights it goes on: nobody's for a proxy that asks for no key and has no application. */
export interface CallOwner {
  readonly tenantId: TenantId;
  readonly caller: Caller | undefined;
  /** The caller by the request's own key, where it has a valid one. */
  readonly keyHolder: Caller | undefined;
  /** Undefined for an ephemeral one. */
  readonly proxy: LoadedProxy | undefined;
}

/** Which proxy a call goes through. */
export type ProxyTarget =
  | { readonly kind: "configured"; readonly key: string }
  /** Made up by the caller for this call. */
  | { readonly kind: "ephemeral"; readonly url: string };

export interface ProxyAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
  /** The destination's own status. */
  readonly destinationStatus: number;
}
