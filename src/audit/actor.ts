import type { Uuid } from "../base/ids.js";
import type { AuditContext } from "./audit-context.js";

/** The application or user that does something, as log rows and created_by name it, with the request it acts by. */
export interface Actor {
  readonly id: Uuid;
  readonly type: "application" | "user";
  /** The application's key, or the session. Absent for code that acts as an application. */
  readonly keyId: Uuid | undefined;
  readonly context: AuditContext;
}
