import { isIP } from "node:net";
import { Fault, invalid } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { clientNetwork, plainAddress } from "../base/network.js";
import type { Caller, SessionFrame } from "./caller.js";
import { deniedWith } from "./refusal.js";

export interface FrameDemand {
  readonly frameRequired: boolean;
  /** The address of the person who looks at the frame. */
  readonly frameAddress: string | undefined;
}

/** @throws {Fault} validation_failed naming `frame_address`. */
export function parseFrameDemand({ frameRequired, frameAddress }: FrameDemand): FrameDemand {
  if (frameAddress === undefined) return { frameRequired, frameAddress };
  const address = plainAddress(frameAddress);
  if (isIP(address) === 0 || address.includes("%")) {
    throw invalid("frame_address", "must be an IP address, such as 203.0.113.7 or 2001:db8::7");
  }
  return { frameRequired: true, frameAddress: address };
}

/**
 * Without a frame, the key of the session is known to its creator: the page, or who gave its nonce to the page. A server that
 * loads the document of a frame gets a pass too, but calls from another network than the person.
 * @throws {Denied} permission_denied; {Fault} unprocessable where the server records no addresses.
 */
export function requireFrame(
  caller: Caller,
  sessionId: Uuid,
  frame: SessionFrame | undefined,
  { frameRequired, frameAddress }: FrameDemand,
): void {
  const refuse = (text: string) =>
    deniedWith(caller, new Fault("permission_denied", text), "frame", { type: "session", id: sessionId });
  if (!frameRequired) return;
  if (!frame) throw refuse("No hosted field created this session: its key may be known to a page or to others.");
  if (frameAddress === undefined) return;
  if (frame.network === undefined) {
    throw new Fault(
      "unprocessable",
      "frame_address cannot be checked, because the operator records no addresses of clients.",
    );
  }
  if (clientNetwork(frameAddress) !== frame.network) {
    throw refuse("The session was created from another network than that of frame_address.");
  }
}
