import { Fault } from "../base/fault.js";
import type { Caller, Frame } from "./caller.js";
import { needsFrame } from "./pages.js";
import { type Denied, deniedWith } from "./refusal.js";

/** What of a page may call a method with the key of an application that shows hosted fields. */
export type PageAccess =
  /** Neither the page nor its frames. */
  | "none"
  /** The page with the key alone, because the method neither returns nor changes a token's value. */
  | "key"
  | "frame"
  | "frame_session";

/** Whether the caller's key works in frames only. */
function isForFrames({ principal, session }: Caller): boolean {
  if (session?.frame) return true;
  return principal.kind === "application" && principal.pages !== undefined && needsFrame(principal.pages);
}

/** Refuses a caller that no frame stands for. @throws {Denied} permission_denied for a key that works in frames only. */
export function requireNoFrame(caller: Caller): void {
  if (isForFrames(caller)) throw keyAlone(caller);
}

/** Whether {@link requirePageAccess} admits a caller without a pass. */
export function needsNoPass(caller: Caller, access: PageAccess): boolean {
  return access === "key" || !isForFrames(caller);
}

/** @param frame undefined for a request without a pass. @throws {Denied} permission_denied. */
export function requirePageAccess(caller: Caller, frame: Frame | undefined, access: PageAccess): void {
  if (!frame) {
    if (!needsNoPass(caller, access)) throw keyAlone(caller);
    return;
  }
  if (access === "key") return;
  if (access === "none") throw refusedTo(caller, "Hosted fields cannot call this method.");
  if (access === "frame_session" && !caller.session) {
    throw refusedTo(caller, "Hosted fields call this method with the key of a session that they created.");
  }
}

function keyAlone(caller: Caller): Denied {
  return refusedTo(
    caller,
    caller.session
      ? "This session belongs to the hosted field that created it, and its key works there only."
      : "This application has allowed_origins: its keys work in hosted fields only. Call the API with the key of " +
          "another application, or set allow_page_requests.",
  );
}

function refusedTo(caller: Caller, text: string): Denied {
  const fault = new Fault("permission_denied", text);
  return deniedWith(caller, fault, "frame");
}
