import type { Readable } from "node:stream";
import { Fault } from "../base/fault.js";
import { EgressError } from "../egress/egress-error.js";

/**
 * Reads a body to its end.
 * @throws {Fault} body_too_large; when it ends early malformed_body for a caller's, destination_unreachable or
 * destination_timeout for a destination's.
 */
export async function readWhole(body: Readable | Buffer, most: number): Promise<Buffer> {
  if (Buffer.isBuffer(body)) {
    if (body.length > most) throw tooLarge(most);
    return body;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      size += bytes.length;
      if (size > most) throw tooLarge(most);
      chunks.push(bytes);
    }
  } catch (error) {
    if (error instanceof EgressError) throw error.toFault();
    throw error instanceof Fault ? error : new Fault("malformed_body", "The body ended before it was complete.");
  }
  return Buffer.concat(chunks);
}

function tooLarge(most: number): Fault {
  return new Fault("body_too_large", `A body that is read or transformed must not be larger than ${most} bytes.`);
}
