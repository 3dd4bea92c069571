import type { TenantTransaction } from "../audit/tenant-transaction.js";
import type { Uuid } from "../base/ids.js";
import type { AuthorshipColumns } from "../store/statements/authorship.js";
import { loggedActor } from "./caller.js";
import type { CallerTransaction } from "./caller-transaction.js";

/** The author of an entity, and the author of its last change. */
export interface Authorship {
  readonly createdBy: Uuid | null;
  readonly createdAt: Date;
  readonly modifiedBy: Uuid | null;
  readonly modifiedAt: Date | null;
}

export function newAuthorship({ author, now }: TenantTransaction): Authorship {
  return { createdBy: author?.id ?? null, createdAt: now, modifiedBy: null, modifiedAt: null };
}

/** What changes of it if the caller changes the entity in this transaction. */
export function changedAuthorship({ caller, now }: CallerTransaction) {
  return { modifiedBy: loggedActor(caller).id, modifiedAt: now };
}

export function readAuthorship(row: AuthorshipColumns): Authorship {
  return {
    createdBy: row.created_by,
    createdAt: row.created_at,
    modifiedBy: row.modified_by,
    modifiedAt: row.modified_at,
  };
}
