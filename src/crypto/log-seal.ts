import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { TenantId } from "../base/ids.js";
import { lengthPrefixed } from "./bytes.js";
import { type KeyVersions, SealBroken } from "./sealed.js";

/** What a seal says of one minute of a tenant's log. */
export interface SealedMinute {
  readonly windowStart: Date;
  /** 1 for the tenant's first seal, and one more for each. */
  readonly number: number;
  readonly rowCount: number;
  /** Of the rows in the order of (created_at, id): see {@link RowDigest}. */
  readonly digest: Uint8Array;
  /** The mac of the seal before, {@link NO_SEAL} for the first. */
  readonly previous: Uint8Array;
}

/** Where a tenant's chain of seals ends, and from when on its rows are still there. */
export interface ChainEnd {
  readonly number: number;
  readonly lastMac: Uint8Array;
  readonly keptFrom: Date | undefined;
}

/** What stands for the seal before the first. */
export const NO_SEAL: Uint8Array = Buffer.alloc(32);

/** A column of a log row as text; null is not the empty text. */
export type Cell = string | null;

/** SHA-256 over rows, each cell length-prefixed with a byte that tells null from text. */
export class RowDigest {
  readonly #hash = createHash("sha256");
  #count = 0;

  constructor(tenantId: TenantId, windowStart: Date) {
    this.#hash.update(lengthPrefixed(["cloakroom/log-rows/1", tenantId, windowStart.toISOString()]));
  }

  get count(): number {
    return this.#count;
  }

  add(cells: readonly Cell[]): void {
    this.#count += 1;
    this.#hash.update(lengthPrefixed(cells.map((cell) => (cell === null ? "0" : `1${cell}`))));
  }

  /** Ends the digest. */
  finish(): Buffer {
    return this.#hash.digest();
  }
}

/** @throws {SealBroken} when the key of that version is gone. */
export function macOfMinute(keys: KeyVersions, version: number, tenantId: TenantId, minute: SealedMinute): Buffer {
  return mac(keys, version, [
    "cloakroom/log-seal/1",
    tenantId,
    minute.windowStart.toISOString(),
    String(minute.number),
    String(minute.rowCount),
    minute.digest,
    minute.previous,
  ]);
}

/** @throws {SealBroken} when the key of that version is gone. */
export function macOfEnd(keys: KeyVersions, version: number, tenantId: TenantId, end: ChainEnd): Buffer {
  return mac(keys, version, [
    "cloakroom/log-end/1",
    tenantId,
    String(end.number),
    end.lastMac,
    end.keptFrom?.toISOString() ?? "",
  ]);
}

/** Whether `given` is the mac that `make` gives. One whose key is gone is none. */
export function isMac(given: Uint8Array, make: () => Buffer): boolean {
  try {
    const expected = make();
    return expected.length === given.length && timingSafeEqual(expected, given);
  } catch (error) {
    if (error instanceof SealBroken) return false;
    throw error;
  }
}

function mac(keys: KeyVersions, version: number, parts: readonly (string | Uint8Array)[]): Buffer {
  const key = keys.byVersion.get(version);
  if (!key) throw new SealBroken("the key of a seal of the log is gone");
  return createHmac("sha256", key).update(lengthPrefixed(parts)).digest();
}
