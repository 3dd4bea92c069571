import type { TenantId, Uuid } from "../base/ids.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { ApplicationKeyRow } from "../store/access/application-keys.js";
import type { ApplicationRow } from "../store/access/applications.js";
import type { AccessRule, AccessRuleDraft } from "./access-rule.js";
import type { KeyKind } from "./key-text.js";
import { type ApplicationType, isApplicationType, type Permission } from "./permissions.js";
import { openRights } from "./sealed-rights.js";

/** A holder of rights, under which its keys act. */
export interface Application {
  readonly id: Uuid;
  readonly name: string;
  readonly type: ApplicationType;
  readonly permissions: readonly Permission[];
  readonly rules: readonly AccessRule[];
  /** The origins whose pages may show fields with its keys. */
  readonly allowedOrigins: readonly string[];
  readonly keys: readonly ApplicationKey[];
  readonly createdBy: Uuid | null;
  readonly createdAt: Date;
  readonly modifiedBy: Uuid | null;
  readonly modifiedAt: Date | null;
}

/** A key of an application, without its value. */
export interface ApplicationKey {
  readonly id: Uuid;
  readonly createdBy: Uuid | null;
  readonly createdAt: Date;
}

/** An entity with its new key. The key's value can be shown only now. */
export interface WithKey<T> {
  readonly made: T;
  readonly key: Sensitive<string> | undefined;
}

/** An application as its caller wrote it. */
export interface ApplicationDraft {
  readonly name: string;
  readonly permissions: readonly string[];
  readonly rules: readonly AccessRuleDraft[];
  readonly allowedOrigins?: readonly string[];
}

export const KEY_KIND_OF: Readonly<Record<ApplicationType, KeyKind>> = {
  private: "pvt",
  public: "pub",
  management: "mgt",
};

/** @throws {Error} for a stored type that this release does not know. */
export function openApplication(
  keys: TenantKeys,
  tenantId: TenantId,
  row: ApplicationRow,
  keyRows: readonly ApplicationKeyRow[],
): Application {
  if (!isApplicationType(row.type)) throw new Error("an application of unknown type is stored");
  return {
    id: row.id,
    type: row.type,
    ...openRights(keys, tenantId, row.id, row.type, row),
    keys: keyRows.map(applicationKeyOf),
    createdBy: row.created_by,
    createdAt: row.created_at,
    modifiedBy: row.modified_by,
    modifiedAt: row.modified_at,
  };
}

export function applicationKeyOf(row: ApplicationKeyRow): ApplicationKey {
  return { id: row.id, createdBy: row.created_by, createdAt: row.created_at };
}
