import type { Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { CredentialRow } from "../store/access/credentials.js";
import type { SessionRow } from "../store/access/sessions.js";
import type { AccessRights } from "./access-rule.js";
import type { CachedCaller } from "./caller.js";
import { Grant } from "./grant.js";
import type { PresentedKey } from "./key-text.js";
import type { Pages } from "./pages.js";
import { isApplicationType } from "./permissions.js";
import { openRights, openSessionRights } from "./sealed-rights.js";
import { readSettings } from "./tenant-settings.js";

/** A session acts for its public application. It has no rights until it is authorized. */
export function sessionCaller(keys: TenantKeys, { tenantId }: PresentedKey, row: SessionRow): CachedCaller {
  const type = row.application_type;
  if (!isApplicationType(type)) throw new Error("an application of unknown type is stored");
  const own = openSessionRights(keys, row);
  const { frame } = own;
  const columns = { id: row.application_id, type, created_by: row.application_created_by };
  const pages = openRights(keys, columns, row.application_definition);
  const within = authorizerRights(keys, row);
  // Without its authorizer a session has no rights either.
  const rights = within ? own : NOTHING;
  return {
    tenantId,
    principal: { kind: "application", id: row.application_id, type, ...shownPages(pages) },
    keyId: undefined,
    session: { id: row.id, ...(frame ? { frame } : {}) },
    endsAt: row.expires_at,
    grant: new Grant(rights, within && new Grant(within)),
    settings: readSettings(row.settings),
    eventTypes: row.event_types,
    revision: row.revision,
  };
}

const NOTHING: AccessRights = { permissions: [], rules: [] };

/** The current rights of a session's authorizer. Undefined if it has none. */
function authorizerRights(keys: TenantKeys, row: SessionRow): AccessRights | undefined {
  const { authorized_by: id, authorizer_type: type, authorizer_definition: definition } = row;
  if (id === null || type === null || definition === null || !isApplicationType(type)) return undefined;
  return openRights(keys, { id, type, created_by: row.authorizer_created_by }, definition);
}

export function applicationCaller(keys: TenantKeys, row: CredentialRow, keyId: Uuid | undefined): CachedCaller {
  const { type } = row;
  if (!isApplicationType(type)) throw new Error("an application of unknown type is stored");
  const columns = { id: row.application_id, type, created_by: row.created_by };
  const rights = openRights(keys, columns, row.definition);
  return {
    tenantId: keys.tenantId,
    principal: { kind: "application", id: row.application_id, type, ...shownPages(rights) },
    keyId,
    session: undefined,
    grant: new Grant(rights),
    settings: readSettings(row.settings),
    eventTypes: row.event_types,
    revision: row.revision,
  };
}

/** An application without pages, as most are, keeps none. */
function shownPages(pages: Pages): { readonly pages?: Pages } {
  const { allowedOrigins, templates, allowPageRequests } = pages;
  return allowedOrigins.length > 0 ? { pages: { allowedOrigins, templates, allowPageRequests } } : {};
}
