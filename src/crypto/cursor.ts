import type { KeyObject } from "node:crypto";
import type { Uuid } from "../base/ids.js";
import { isUuid } from "../base/ids.js";
import { macEquals, truncatedMac } from "./keyed-hash.js";

/** Where a list continues: after the row with this time and id. */
export interface ListCursor {
  readonly createdAt: Date;
  readonly id: string;
}

/**
 * Encodes a list position as a text that only the vault can make, valid for one tenant (whose key proves it) and one
 * scope. Base64url of the time in milliseconds (8 bytes), a proof (16 bytes), and the id.
 * @param scope names the list: its permission and its filter.
 */
export function writeCursor(key: KeyObject, scope: readonly string[], { createdAt, id }: ListCursor): string {
  const time = Buffer.allocUnsafe(8);
  time.writeBigInt64BE(BigInt(createdAt.getTime()));
  return Buffer.concat([time, proof(key, scope, time, id), Buffer.from(id)]).toString("base64url");
}

/** Returns undefined if the text is not a cursor of this tenant and scope. */
export function readCursor(key: KeyObject, scope: readonly string[], text: string): ListCursor | undefined {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length < 25) return undefined;
  const time = bytes.subarray(0, 8);
  const id = bytes.subarray(24).toString();
  if (!macEquals(proof(key, scope, time, id), bytes.subarray(8, 24))) return undefined;
  return { createdAt: new Date(Number(time.readBigInt64BE())), id };
}

export function isUuidPosition(position: ListCursor): position is ListCursor & { readonly id: Uuid } {
  return isUuid(position.id);
}

function proof(key: KeyObject, scope: readonly string[], time: Uint8Array, id: string): Buffer {
  return truncatedMac(key, ["cloakroom/cursor/1", ...scope, time, id]);
}
