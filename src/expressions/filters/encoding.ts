import { createHmac } from "node:crypto";
import { type Operand, operandText } from "../operand.js";
import { unevaluable } from "../rejection.js";
import type { FilterFamily } from "./filter.js";

/** Documented names and their OpenSSL equivalents. */
const ALGORITHMS: ReadonlyMap<string, string> = new Map([
  ["sha-1", "sha1"],
  ["sha-256", "sha256"],
  ["sha-512", "sha512"],
]);

/** OpenSSL's name of a documented algorithm, in any case. */
export function readHmacAlgorithm(name: string): string | undefined {
  return ALGORITHMS.get(name.toLowerCase());
}

/** Filters that make or encode bytes. They reject null: a missing value must not pass as an encoded one. */
export const encodingFilters: FilterFamily = {
  hmac(input, args) {
    const algorithm = readHmacAlgorithm(args.text(0, "algorithm", "sha-256"));
    if (algorithm === undefined) throw unevaluable("hmac needs sha-1, sha-256 or sha-512 as algorithm");
    return createHmac(algorithm, args.text(1, "key")).update(operandText(input, "hmac")).digest();
  },

  to_base64(input) {
    return inputBytes(input, "to_base64").toString("base64");
  },

  to_base16(input) {
    return inputBytes(input, "to_base16").toString("hex").toUpperCase();
  },

  hex(input) {
    return inputBytes(input, "hex").toString("hex").toUpperCase();
  },
};

/** A text becomes its UTF-8 bytes. */
function inputBytes(input: Operand, filter: string): Buffer {
  return input instanceof Uint8Array ? Buffer.from(input) : Buffer.from(operandText(input, filter));
}
