import { randomFillSync } from "node:crypto";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type Uuid = Branded<"Uuid">;
/** The id of a tenant: the isolation boundary of everything stored. */
export type TenantId = Uuid & { readonly [tenant]: true };
declare const tenant: unique symbol;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isUuid(text: string): text is Uuid {
  return UUID.test(text);
}

export function isTenantId(text: string): text is TenantId {
  return UUID.test(text);
}

/** Reads a UUID in any case. Returns undefined for anything else. */
export function parseUuid(text: string): Uuid | undefined {
  const lower = text.toLowerCase();
  return isUuid(lower) ? lower : undefined;
}

/**
 * Owner of the vault's own records, under keys of its own: the chain that attests the last seals of all tenants. No
 * real tenant gets this id, because generated ids contain the time.
 */
export const VAULT_TENANT_ID: TenantId = fixedTenantId("00000000-0000-7000-8000-000000000000");

function fixedTenantId(id: string): TenantId {
  if (!isTenantId(id)) throw new Error("a fixed tenant id is malformed");
  return id;
}

const POOL_BYTES = 8 * 512;
const pool = Buffer.alloc(POOL_BYTES);
let poolUsed = POOL_BYTES;
let lastMs = 0;
let sequence = 0;
/** The last id. The next one is written over it: joining its parts would make eight texts on the way. */
const characters = Buffer.from("00000000-0000-7000-8000-000000000000");
const DIGITS = Buffer.from("0123456789abcdef");

/**
 * A new UUIDv7 (RFC 9562): sorts by creation, strictly rising within this process. The 12 bits after the version count
 * up within a millisecond; when they run out, or the system clock steps back, the last millisecond is reused plus one.
 */
export function newUuid(): Uuid {
  const now = Date.now();
  if (now > lastMs) beginMs(now);
  else if (++sequence > 0xfff) beginMs(lastMs + 1);
  if (poolUsed + 8 > POOL_BYTES) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  pool[poolUsed] = ((pool[poolUsed] ?? 0) & 0x3f) | 0x80;
  writeDigits(sequence, 15, 18);
  writeDigits(pool.readUInt16BE(poolUsed), 19, 23);
  writeDigits(pool.readUIntBE(poolUsed + 2, 6), 24, 36);
  poolUsed += 8;
  const id = characters.toString("latin1");
  if (!isUuid(id)) throw new Error("a UUIDv7 came out malformed");
  return id;
}

function beginMs(ms: number): void {
  lastMs = ms;
  sequence = 0;
  writeDigits(Math.floor(ms / 0x10000), 0, 8);
  writeDigits(ms % 0x10000, 9, 13);
}

/** Writes a number of at most 48 bits as the hexadecimal digits from `start` to `end` of the next id. */
function writeDigits(value: number, start: number, end: number): void {
  let rest = value;
  for (let at = end - 1; at >= start; at -= 1) {
    characters[at] = DIGITS[rest % 16] ?? 0;
    rest = Math.floor(rest / 16);
  }
}

/** The time in a version 7 UUID (RFC 9562, 5.7); undefined for other versions. */
export function timeOfUuid(id: Uuid): Date | undefined {
  return id[14] === "7" ? new Date(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)) : undefined;
}

export function newTenantId(): TenantId {
  const id: string = newUuid();
  if (!isTenantId(id)) throw new Error("a tenant id came out malformed");
  return id;
}
