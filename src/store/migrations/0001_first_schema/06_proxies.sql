create table proxies (
  tenant_id uuid not null,
  id uuid not null,
  name bytea not null,
  key_hash bytea not null,
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
create index proxies_created on proxies (tenant_id, created_at, id);
comment on table proxies is 'Proxies. What they hold of their owner is one sealed value.';
comment on column proxies.name is 'Sealed.';
comment on column proxies.key_hash is 'SHA-256 of the proxy''s key.';
comment on column proxies.definition is 'Sealed JSON: key, destination_url, transforms, configuration.';
comment on column proxies.application_id is 'The application whose rights the transforms have.';
comment on column proxies.revision is 'Rises with every change.';
