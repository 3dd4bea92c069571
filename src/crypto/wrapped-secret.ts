import { unknownFormat } from "./bytes.js";
import { RootKeyRefused } from "./root-key.js";

const FORMAT = 0x01;

/** Puts the version of the format before what the root key's holder made: one byte. */
export function writeWrapped(ciphertext: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(FORMAT), ciphertext]);
}

/**
 * What the root key's holder made.
 * @throws {RootKeyRefused} if the format is another one, with its number.
 */
export function readWrapped(wrapped: Uint8Array): Buffer {
  const [format] = wrapped;
  if (format === undefined) throw new RootKeyRefused("a wrapped key is malformed");
  if (format !== FORMAT) throw new RootKeyRefused(unknownFormat("a wrapped key", format, FORMAT));
  return Buffer.from(wrapped.subarray(1));
}
