-- Applications, their keys, and sessions. Key values and nonces are stored as hashes only.
create table if not exists applications (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  type text not null,
  permissions text[] not null,
  rules jsonb not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id)
);
create index if not exists applications_created on applications (tenant_id, created_at, id);

create table if not exists application_keys (
  tenant_id uuid not null,
  id uuid not null,
  application_id uuid not null,
  key_hash bytea not null,
  created_by uuid,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, key_hash),
  foreign key (tenant_id, application_id) references applications (tenant_id, id) on delete cascade
);
create index if not exists application_keys_of on application_keys (tenant_id, application_id, created_at, id);

create table if not exists sessions (
  tenant_id uuid not null,
  id uuid not null,
  key_hash bytea not null,
  nonce_hash bytea not null,
  application_id uuid not null,
  -- Null until the session is authorized.
  permissions text[],
  rules jsonb,
  authorized_by uuid,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, key_hash),
  unique (tenant_id, nonce_hash)
);
create index if not exists sessions_due on sessions (tenant_id, expires_at);
