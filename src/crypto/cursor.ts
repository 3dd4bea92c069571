import type { KeyObject } from "node:crypto";
import { isUuid, type Uuid } from "../base/ids.js";
import { macEquals, truncatedMac } from "./keyed-hash.js";

const FORMAT = 0x01;

/** Where a list continues: after the row with this time and id. */
export interface ListPosition {
  readonly createdAt: Date;
  readonly id: string;
}

/**
 * Encodes a list position as a text that only the vault can make, valid for one tenant (whose key proves it) and one
 * scope. Base64url of the version of the format (1 byte), the time in milliseconds (8 bytes), a proof (16 bytes), and
 * the id.
 * @param scope names the list: its permission and its filter.
 */
export function writeCursor(key: KeyObject, scope: readonly string[], { createdAt, id }: ListPosition): string {
  const time = Buffer.allocUnsafe(8);
  time.writeBigInt64BE(BigInt(createdAt.getTime()));
  return Buffer.concat([Buffer.of(FORMAT), time, proof(key, scope, time, id), Buffer.from(id)]).toString("base64url");
}

/** Returns undefined if the text is not a cursor of this format, tenant and scope. */
export function readCursor(key: KeyObject, scope: readonly string[], text: string): ListPosition | undefined {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length < 25 || bytes[0] !== FORMAT) return undefined;
  const time = bytes.subarray(1, 9);
  const id = bytes.subarray(25).toString();
  if (!macEquals(proof(key, scope, time, id), bytes.subarray(9, 25))) return undefined;
  return { createdAt: new Date(Number(time.readBigInt64BE())), id };
}

export function isUuidPosition(position: ListPosition): position is ListPosition & { readonly id: Uuid } {
  return isUuid(position.id);
}

function proof(key: KeyObject, scope: readonly string[], time: Uint8Array, id: string): Buffer {
  return truncatedMac(key, ["cloakroom/cursor/1", ...scope, time, id]);
}
