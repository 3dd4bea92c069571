import { DAY_MS } from "../base/clock.js";
import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";

/** A person could otherwise invite another address of their own and agree with it, before anybody sees the new member. */
const SETTLED_MS = DAY_MS;

/** Whether a membership counts where two people must agree. @param since its last change. */
export function hasSettled(since: Date, now: Date): boolean {
  return now.getTime() - since.getTime() >= SETTLED_MS;
}

/** A person who is signed in, and whose word counts where two people must agree. */
export class SettledMember {
  readonly userId: Uuid;

  private constructor(userId: Uuid) {
    this.userId = userId;
  }

  /** @throws {Fault} permission_denied for a membership that is too new. @param since its last change. */
  static require(userId: Uuid, since: Date, now: Date): SettledMember {
    if (hasSettled(since, now)) return new SettledMember(userId);
    const text =
      "You may ask for exports and approve them 24 hours after your membership began, or your role or first passkey was last changed.";
    throw new Fault("permission_denied", text);
  }
}
