import { object, parseWireJson } from "../../wire/shape.js";
import { type CryptoSession, runCrypto } from "../host-crypto/operations.js";

/** Larger data would hold the thread for too long: hashing this much takes 0.3 s. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Bytes, or text after "=", or the message of an error after "!": what guest/crypto/host-crypto.ts expects. */
export function cryptoCall(
  operation: string,
  parameters: string,
  data: Uint8Array,
  session: CryptoSession,
): Uint8Array | string {
  try {
    if (data.length > MAX_BYTES) throw new RangeError("The data is too large.");
    const result = runCrypto(operation, object(parseWireJson(Buffer.from(parameters))), data, session);
    return typeof result === "string" ? `=${result}` : result;
  } catch (error) {
    return `!${error instanceof Error ? error.message : "the call failed"}`;
  }
}
