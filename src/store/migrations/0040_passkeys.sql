-- Passkeys of members. Their challenges are rows of sign_in_requests.
create table if not exists passkeys (
  tenant_id uuid not null,
  id uuid not null,
  member_id uuid not null,
  -- SHA-256 of the credential's id.
  credential_hash bytea not null,
  -- Sealed JSON: credential id, public key, counter, name. Bound to the member and the credential.
  details bytea not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, credential_hash)
);
create index if not exists passkeys_member on passkeys (tenant_id, member_id, created_at);

alter table passkeys enable row level security;
alter table passkeys force row level security;
do $$
begin
  if not exists (select from pg_policies where schemaname = current_schema() and tablename = 'passkeys' and policyname = 'of_tenant') then
    create policy of_tenant on passkeys to cloakroom_app
      using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
  end if;
end
$$;
grant select, insert, update, delete on passkeys to cloakroom_app;
