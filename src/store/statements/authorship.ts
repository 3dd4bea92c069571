import type { Uuid } from "../../base/ids.js";

/** The columns of a row about who made it and who changed it last. */
export interface AuthorshipColumns {
  readonly created_by: Uuid | null;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

export const AUTHORSHIP = "created_by, created_at, modified_by, modified_at";
