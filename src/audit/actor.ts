import type { Uuid } from "../base/ids.js";

/** The application or user that does something, as log rows and created_by name it. */
export interface Actor {
  readonly id: Uuid;
  readonly type: "application" | "user";
}
