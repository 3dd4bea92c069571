-- Proxies. What they hold of their owner (key, destination, configuration, transform code) is one sealed value.
create table if not exists proxies (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  key_hash bytea not null,
  -- Sealed JSON: key, destination_url, transforms, configuration.
  definition bytea not null,
  application_id uuid,
  require_auth boolean not null,
  revision integer not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, key_hash)
);
create index if not exists proxies_created on proxies (tenant_id, created_at, id);

alter table proxies enable row level security;
alter table proxies force row level security;
do $$
begin
  if not exists (select from pg_policies where schemaname = current_schema() and tablename = 'proxies' and policyname = 'of_tenant') then
    create policy of_tenant on proxies to cloakroom_app using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
  end if;
end
$$;
grant select, insert, update, delete on proxies to cloakroom_app;
