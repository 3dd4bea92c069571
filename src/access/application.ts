import type { Uuid } from "../base/ids.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { ApplicationKeyRow } from "../store/access/application-keys.js";
import type { ApplicationRow } from "../store/access/applications.js";
import type { AccessRule, AccessRuleDraft } from "./access-rule.js";
import { type Authorship, readAuthorship } from "./authorship.js";
import type { KeyKind } from "./key-text.js";
import type { Pages } from "./pages.js";
import { type ApplicationType, isApplicationType, type Permission } from "./permissions.js";
import { type KeyDetails, keyDetailsRecord, openRights } from "./sealed-rights.js";

export interface Application extends Pages, Authorship {
  readonly id: Uuid;
  readonly name: string;
  readonly type: ApplicationType;
  /** The number of changes of its rights. */
  readonly revision: number;
  readonly permissions: readonly Permission[];
  readonly rules: readonly AccessRule[];
  readonly keys: readonly ApplicationKey[];
}

export interface ApplicationKey extends KeyDetails {
  readonly id: Uuid;
  readonly createdBy: Uuid | null;
  readonly createdAt: Date;
  /** Undefined: it does not expire. */
  readonly expiresAt: Date | undefined;
  /** Undefined: it left no row in the log, or only in the last minutes. */
  readonly lastUsedAt: Date | undefined;
}

/** An entity with its new key. The key's value can be shown only now. */
export interface WithKey<T> {
  readonly made: T;
  readonly key: Sensitive<string> | undefined;
}

export interface ApplicationDraft extends Partial<Pages> {
  readonly name: string;
  readonly permissions: readonly string[];
  readonly rules: readonly AccessRuleDraft[];
}

export const KEY_KIND_OF: Readonly<Record<ApplicationType, KeyKind>> = {
  private: "pvt",
  public: "pub",
  management: "mgt",
};

/** @throws {Error} for a stored type that this release does not know. */
export function openApplication(
  keys: TenantKeys,
  row: ApplicationRow,
  keyRows: readonly ApplicationKeyRow[],
): Application {
  if (!isApplicationType(row.type)) throw new Error("an application of unknown type is stored");
  return {
    id: row.id,
    type: row.type,
    ...openRights(keys, { ...row, type: row.type }, row.definition),
    keys: keyRows.map((keyRow) => toApplicationKey(keys, keyRow)),
    ...readAuthorship(row),
  };
}

export function toApplicationKey(keys: TenantKeys, row: ApplicationKeyRow): ApplicationKey {
  const { name, owner } = row.details ? keyDetailsRecord.open(keys, row, row.details) : NO_DETAILS;
  return {
    id: row.id,
    name,
    owner,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
  };
}

const NO_DETAILS: KeyDetails = { name: undefined, owner: undefined };
