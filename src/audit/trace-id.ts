import { hash } from "node:crypto";
import { parseUuid, type Uuid } from "../base/ids.js";
import { reasonHasCardNumber } from "./reason.js";

const HEX = /^[0-9a-f]{32}$/i;
const SHORT = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * The trace id of a row: 16 bytes. Ids of other forms are hashed, with the same result for a filter by the same id. An id
 * that contains a card number leaves none: its hash could be reversed by trying.
 */
export function loggedTrace(id: string): Uuid | undefined {
  const uuid = parseUuid(id);
  if (uuid) return uuid;
  if (HEX.test(id)) return fromHex(id.toLowerCase());
  if (!SHORT.test(id) || reasonHasCardNumber(id)) return undefined;
  return fromHex(hash("sha256", id).slice(0, 32));
}

function fromHex(hex: string): Uuid | undefined {
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return parseUuid(groups.join("-"));
}
