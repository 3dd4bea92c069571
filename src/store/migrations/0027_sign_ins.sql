-- Sign-ins of members in browsers, sign-ins that have begun, and the identities of members at an OpenID Connect issuer.
create table if not exists sign_ins (
  tenant_id uuid not null,
  id uuid not null,
  -- SHA-256 of the cookie's text.
  token_hash bytea not null,
  member_id uuid not null,
  -- link, operator, openid
  method text not null,
  -- Sealed JSON: role, address and browser at sign-in. Bound to the columns that decide whose it is and until when.
  details bytea not null,
  created_at timestamptz not null,
  -- Written at most once a minute.
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  -- When a second factor was last proven.
  strong_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, token_hash)
);
create index if not exists sign_ins_member on sign_ins (tenant_id, member_id, created_at);
create index if not exists sign_ins_expiry on sign_ins (tenant_id, expires_at);

create table if not exists sign_in_requests (
  tenant_id uuid not null,
  id uuid not null,
  -- link, operator, openid
  method text not null,
  -- SHA-256 of the cookie of the browser that asked. Null for links of the operator.
  browser_hash bytea,
  -- Sealed JSON: the address and the hashes of mailed links, or the member, or nonce and verifier.
  details bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (tenant_id, id)
);
create index if not exists sign_in_requests_expiry on sign_in_requests (tenant_id, expires_at);

create table if not exists member_identities (
  tenant_id uuid not null,
  id uuid not null,
  member_id uuid not null,
  -- Keyed hash of issuer and subject.
  identity_term bytea not null,
  -- Sealed, empty: bound to the member and the identity.
  proof bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, identity_term)
);
create index if not exists member_identities_member on member_identities (tenant_id, member_id);

-- A message is about an invitation or a sign-in. The previous release drops those about sign-ins.
alter table outbox alter column invitation_id drop not null;
alter table outbox alter column invitation_revision drop not null;
alter table outbox add column if not exists sign_in_request_id uuid;

do $$
declare
  name text;
begin
  foreach name in array array['sign_ins', 'sign_in_requests', 'member_identities'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    if not exists (select from pg_policies where schemaname = current_schema() and tablename = name and policyname = 'of_tenant') then
      execute format(
        'create policy of_tenant on %I to cloakroom_app using (tenant_id = nullif(current_setting(''app.tenant_id'', true), '''')::uuid)',
        name
      );
    end if;
    execute format('grant select, insert, update, delete on %I to cloakroom_app', name);
  end loop;
end
$$;
