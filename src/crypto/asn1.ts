import { AsnConvert } from "@peculiar/asn1-schema";
import { type BaseBlock, Constructed, fromBER } from "asn1js";

/** Bytes that are not ASN.1, or not of the expected structure. */
export class NotAsn1 extends Error {
  override readonly name = "NotAsn1";
}

/** @throws {NotAsn1} unless one value takes all bytes. */
export function readAsn1<T>(bytes: ArrayBuffer | Uint8Array, type: new () => T): T {
  return reading(() => AsnConvert.parse(exactly(bytes).valueBeforeDecodeView, type));
}

/** The members of a SEQUENCE or SET. @throws {NotAsn1} */
export function asn1Members(value: ArrayBuffer | Uint8Array | BaseBlock | undefined): readonly BaseBlock[] {
  const element = value instanceof ArrayBuffer || value instanceof Uint8Array ? exactly(value) : value;
  if (!(element instanceof Constructed)) throw new NotAsn1("a value with members is expected");
  return element.valueBlock.value;
}

/** The whole element, with its tag and length. @throws {NotAsn1} */
export function derBytes(element: BaseBlock | undefined): Buffer {
  if (!element) throw new NotAsn1("a value is missing");
  return Buffer.from(element.valueBeforeDecodeView);
}

/** The library bounds depth and number of values. */
function exactly(bytes: ArrayBuffer | Uint8Array): BaseBlock {
  const { result, offset } = reading(() => fromBER(bytes));
  if (result.error !== "" || offset !== bytes.byteLength) throw new NotAsn1("one value is expected");
  if (!endsAsItSays(result)) throw new NotAsn1("a value does not end where its length says");
  return result;
}

/** The library reads members beyond the end of their parent, which lets in bytes that no authority signed. */
function endsAsItSays(element: BaseBlock): boolean {
  if (!(element instanceof Constructed)) return true;
  const members = element.valueBlock.value;
  const { isIndefiniteForm, length } = element.lenBlock;
  const taken = members.reduce((sum, { blockLength }) => sum + blockLength, 0);
  return (isIndefiniteForm || taken === length) && members.every(endsAsItSays);
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch {
    // Its errors quote what they read.
    throw new NotAsn1("a value is not of the expected structure");
  }
}
