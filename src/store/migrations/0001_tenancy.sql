-- Tenants, their keys and their people. tenant_id leads every key: one tenant is one shard on a distributed engine.
create table if not exists tenants (
  tenant_id uuid primary key,
  name text not null,
  owner_id uuid not null,
  settings jsonb not null,
  state text not null,
  -- Rises with every change to keys, applications, rules, settings or state. Transactions fail unless their callers were
  -- authorized under this revision, so a revoked key works nowhere.
  auth_revision bigint not null,
  -- From the operator's plan. Null: what the configuration says.
  included_monthly_active_tokens bigint,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz
);

create table if not exists tenant_keys (
  tenant_id uuid not null,
  purpose text collate "C" not null,
  version integer not null,
  wrapped bytea not null,
  root_key_id text collate "C" not null,
  state text not null,
  created_at timestamptz not null,
  primary key (tenant_id, purpose, version)
);

create table if not exists members (
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  role text not null,
  -- Sealed: email, first_name, last_name, picture.
  profile bytea not null,
  -- Keyed hash of the lower-case address, to find a member by it.
  email_term bytea not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, user_id),
  unique (tenant_id, email_term)
);
create index if not exists members_created on members (tenant_id, created_at, id);

-- Each root key this database was made with: its id and a proof that a key is the one. No tenant data.
create table if not exists root_keys (
  id text collate "C" primary key,
  check_value bytea not null,
  created_at timestamptz not null
);

-- Which tenants have something to sweep, by kind, to the minute. All that cloakroom_jobs may read.
create table if not exists due (
  tenant_id uuid not null,
  kind text collate "C" not null,
  due_at timestamptz not null,
  primary key (tenant_id, kind, due_at)
);
create index if not exists due_at on due (due_at, tenant_id, kind);
