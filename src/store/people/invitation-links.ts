import type { Uuid } from "../../base/ids.js";
import { byteaArray } from "../statements/parameters.js";
import { defineStatement } from "../statements/statement.js";

/** What a link names: an invitation, and one of the secrets that accept it. */
export interface LinkPlace {
  readonly id: Uuid;
  readonly hash: Buffer;
}

export interface LinkedInvitation {
  readonly id: Uuid;
  readonly email: Buffer;
  readonly email_term: Buffer;
  readonly role: string;
  readonly expires_at: Date;
  /** Null until it is accepted. */
  readonly member_id: Uuid | null;
}

/** Finds the invitation of a valid link: unexpired, of an existing tenant. Also finds an accepted one. */
export const findLinkedInvitation = defineStatement<LinkPlace, LinkedInvitation | null, LinkedInvitation>({
  table: "invitations",
  kind: "read",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, places, at) =>
    places.map(
      ({ id, hash }) => sql`
        select i.id, i.email, i.email_term, i.role, i.expires_at, i.member_id from invitations i
        join tenants t on t.tenant_id = i.tenant_id and t.state = 'active'
        where i.tenant_id = ${tenantId} and i.id = ${id} and ${hash} = any(i.link_hashes) and i.expires_at > ${at}`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/** Adds another link to an invitation, unless it was sent again since. Returns the invitation's recipient. */
export const addLink = defineStatement<
  LinkPlace & { readonly revision: number },
  LinkedInvitation | null,
  LinkedInvitation
>({
  table: "invitations",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      ({ id, hash, revision }) => sql`
        update invitations set link_hashes = link_hashes || ${byteaArray(sql, [hash])}
        where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} and member_id is null
          and expires_at > ${at}
        returning id, email, email_term, role, expires_at, member_id`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});

/**
 * Accepts an invitation for a member that is about to be created. Returns false if it is accepted or expired, or its
 * links were replaced.
 */
export const acceptInvitationRow = defineStatement<LinkPlace & { readonly member_id: Uuid }, boolean, unknown>({
  table: "invitations",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      ({ id, hash, member_id }) => sql`
        update invitations set member_id = ${member_id}
        where tenant_id = ${tenantId} and id = ${id} and ${hash} = any(link_hashes) and member_id is null
          and expires_at > ${at}
        returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/**
 * Accepts the invitation of an address whose owner an issuer has verified, for a member that is about to be created.
 * Returns null without an open invitation: none was sent, or it is accepted or expired.
 */
export const acceptInvitationOfAddress = defineStatement<
  { readonly term: Buffer; readonly member_id: Uuid },
  LinkedInvitation | null,
  LinkedInvitation
>({
  table: "invitations",
  kind: "write",
  sortKey: ({ term }) => term.toString("hex"),
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      ({ term, member_id }) => sql`
        update invitations set member_id = ${member_id}
        where tenant_id = ${tenantId} and email_term = ${term} and member_id is null and expires_at > ${at}
        returning id, email, email_term, role, expires_at, member_id`,
    ),
  answers: (rows) => rows.map(([row]) => row ?? null),
});
