-- Members of tenants, their invitations and their sign-ins. Addresses and names are sealed; addresses are found by keyed hashes.
create table members (
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  role text not null,
  profile bytea not null,
  email_term bytea not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, user_id),
  unique (tenant_id, email_term)
);
create index members_created on members (tenant_id, created_at, id);
comment on table members is 'People who belong to a tenant.';
comment on column members.user_id is 'The person in the log, and as the maker of other rows.';
comment on column members.role is 'For queries. Counts only if the sealed role in profile is the same.';
comment on column members.profile is 'Sealed JSON: address, names, picture, role, containers, and whether sign-ins need a passkey.';
comment on column members.email_term is 'Keyed hash of the lower-case address, to find a member by it.';

create table invitations (
  tenant_id uuid not null,
  id uuid not null,
  email bytea not null,
  email_term bytea not null,
  role text not null,
  link_hashes bytea[] not null,
  revision integer not null,
  expires_at timestamptz not null,
  member_id uuid,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, email_term)
);
create index invitations_created on invitations (tenant_id, created_at, id);
create index invitations_accepted on invitations (tenant_id, expires_at) where member_id is not null;
comment on table invitations is 'Invitations to become a member. Links are never stored: each attempt to send has one of its own.';
comment on column invitations.email is 'Sealed JSON: address, role and containers.';
comment on column invitations.email_term is 'Keyed hash of the lower-case address: one invitation an address.';
comment on column invitations.role is 'For queries. Counts only if the sealed role is the same.';
comment on column invitations.link_hashes is 'SHA-256 of each link that works.';
comment on column invitations.revision is 'Rises when it is sent again: messages of an earlier revision are not sent any more.';
comment on column invitations.member_id is
  'The member who accepted it. Kept until it would have expired, because a second click shows the result of the first.';

create table sign_ins (
  tenant_id uuid not null,
  id uuid not null,
  token_hash bytea not null,
  member_id uuid not null,
  method text not null,
  details bytea not null,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  strong_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, token_hash)
);
create index sign_ins_member on sign_ins (tenant_id, member_id, created_at);
create index sign_ins_expiry on sign_ins (tenant_id, expires_at);
comment on table sign_ins is 'Browsers in which members are signed in.';
comment on column sign_ins.token_hash is 'SHA-256 of the cookie''s text.';
comment on column sign_ins.method is 'link, operator, openid or passkey.';
comment on column sign_ins.details is
  'Sealed JSON: role, address and browser at sign-in. Bound to the columns that decide whose it is and until when.';
comment on column sign_ins.last_seen_at is 'Written at most once a minute.';
comment on column sign_ins.strong_at is 'When a second factor was last proven.';

create table sign_in_requests (
  tenant_id uuid not null,
  id uuid not null,
  method text not null,
  browser_hash bytea,
  details bytea not null,
  mail_key bytea,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (tenant_id, id)
);
create index sign_in_requests_expiry on sign_in_requests (tenant_id, expires_at);
create unique index sign_in_requests_mail on sign_in_requests (tenant_id, mail_key) where used_at is null;
comment on table sign_in_requests is 'Sign-ins that have begun, and challenges of passkeys.';
comment on column sign_in_requests.method is 'link, operator, openid or passkey.';
comment on column sign_in_requests.browser_hash is 'SHA-256 of the cookie of the browser that asked. Null for links of the operator.';
comment on column sign_in_requests.details is
  'Sealed JSON: the address and the hashes of mailed links, or the member, or nonce and verifier.';
comment on column sign_in_requests.mail_key is
  'Keyed hash of the address and of the minutes for which one mail with a link serves all requests for it. Null: the request has no mail of its own.';

create table known_browsers (
  tenant_id uuid not null,
  member_id uuid not null,
  slot integer not null check (slot between 0 and 9),
  browser_hash bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, member_id, slot),
  unique (tenant_id, browser_hash, member_id)
);
comment on table known_browsers is
  'Browsers in which members have signed in, which have limits of their own for asking to sign in. At most ten a member.';
comment on column known_browsers.browser_hash is 'SHA-256 of the id in the browser''s cookie.';

create table member_identities (
  tenant_id uuid not null,
  id uuid not null,
  member_id uuid not null,
  identity_term bytea not null,
  proof bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, identity_term)
);
create index member_identities_member on member_identities (tenant_id, member_id);
comment on table member_identities is 'Identities of members at an OpenID Connect issuer.';
comment on column member_identities.identity_term is 'Keyed hash of issuer and subject.';
comment on column member_identities.proof is 'Sealed, empty: bound to the member and the identity.';

create table passkeys (
  tenant_id uuid not null,
  id uuid not null,
  member_id uuid not null,
  credential_hash bytea not null,
  details bytea not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, credential_hash)
);
create index passkeys_member on passkeys (tenant_id, member_id, created_at);
comment on table passkeys is 'Passkeys of members. Their challenges are rows of sign_in_requests.';
comment on column passkeys.credential_hash is 'SHA-256 of the credential''s id.';
comment on column passkeys.details is
  'Sealed JSON: credential id, public key, counter, name. Bound to the member and the credential.';

create table mail_counts (
  tenant_id uuid not null,
  counted bytea not null,
  hour timestamptz not null,
  mails integer not null,
  primary key (tenant_id, counted, hour)
);
create index mail_counts_hour on mail_counts (tenant_id, hour);
comment on table mail_counts is
  'Mails of a tenant by the hour. Those of the vault itself count the mails to each address, of all tenants.';
comment on column mail_counts.counted is 'Empty for all of the tenant, or a keyed hash of an address.';
