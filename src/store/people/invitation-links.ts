import type { Uuid } from "../../base/ids.js";
import { byteaArray } from "../statements/parameters.js";
import { defineHasWritten, defineRow, defineWrittenRow } from "../statements/row-statements.js";
import type { InvitationRow } from "./invitations.js";

/** What a link names: an invitation, and one of the secrets that accept it. */
export interface NamedLink {
  readonly id: Uuid;
  readonly hash: Buffer;
}

export interface LinkedInvitation extends Pick<InvitationRow, "id" | "email" | "role" | "expires_at"> {
  readonly email_term: Buffer;
  /** Null until it is accepted. */
  readonly member_id: Uuid | null;
}

export interface SentInvitation extends LinkedInvitation {
  /** The user id of the person, or the id of the application, that sent it last. */
  readonly sent_by: Uuid | null;
}

/** Finds the invitation of a valid link: unexpired, of an existing tenant. Also finds an accepted one. */
export const findLinkedInvitation = defineRow<NamedLink, LinkedInvitation>(
  "invitations",
  (sql, tenantId, { id, hash }, at) => sql`
    select i.id, i.email, i.email_term, i.role, i.expires_at, i.member_id from invitations i
    join tenants t on t.tenant_id = i.tenant_id and t.state = 'active'
    where i.tenant_id = ${tenantId} and i.id = ${id} and ${hash} = any(i.link_hashes) and i.expires_at > ${at}`,
);

/** Adds another link to an invitation, unless it was sent again since. Returns the invitation's recipient. */
export const addLink = defineWrittenRow<NamedLink & { readonly revision: number }, SentInvitation>(
  "invitations",
  (sql, tenantId, { id, hash, revision }, at) => sql`
    update invitations set link_hashes = link_hashes || ${byteaArray(sql, [hash])}
    where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} and member_id is null
      and expires_at > ${at}
    returning id, email, email_term, role, expires_at, member_id, coalesce(modified_by, created_by) as sent_by`,
);

/**
 * Accepts an invitation for a member that is about to be created. Returns false if it is accepted or expired, or its
 * links were replaced.
 */
export const acceptInvitationRow = defineHasWritten<NamedLink & { readonly member_id: Uuid }>(
  "invitations",
  (sql, tenantId, { id, hash, member_id }, at) => sql`
    update invitations set member_id = ${member_id}
    where tenant_id = ${tenantId} and id = ${id} and ${hash} = any(link_hashes) and member_id is null
      and expires_at > ${at}
    returning 1`,
);

/**
 * Accepts the invitation of an address whose owner an issuer has verified, for a member that is about to be created.
 * Returns null without an open invitation: none was sent, or it is accepted or expired.
 */
export const acceptInvitationOfAddress = defineWrittenRow<
  { readonly term: Buffer; readonly member_id: Uuid },
  LinkedInvitation
>(
  "invitations",
  (sql, tenantId, { term, member_id }, at) => sql`
    update invitations set member_id = ${member_id}
    where tenant_id = ${tenantId} and email_term = ${term} and member_id is null and expires_at > ${at}
    returning id, email, email_term, role, expires_at, member_id`,
);
