-- Tenants and the keys of their values. tenant_id leads every key: one tenant is one shard on a distributed engine.
create table tenants (
  tenant_id uuid primary key,
  name text not null,
  owner_id uuid not null,
  settings jsonb not null,
  state text not null,
  auth_revision bigint not null,
  event_types text[] not null,
  included_monthly_active_tokens bigint,
  audit_closed_until timestamptz,
  audit_set_back_to timestamptz,
  closing_mac bytea,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz
);
comment on table tenants is 'Tenants, and the vault itself under an id of its own.';
comment on column tenants.owner_id is 'The application or member that the tenant was created with.';
comment on column tenants.state is 'active or deleting.';
comment on column tenants.auth_revision is
  'Rises with every change to keys, applications, rules, settings or state. Transactions fail unless their callers were authorized under this revision, so a revoked key works nowhere.';
comment on column tenants.event_types is
  'The types of events that an enabled webhook of the tenant asks for. Part of what auth_revision guards.';
comment on column tenants.included_monthly_active_tokens is 'From the operator''s plan. Null: none.';
comment on column tenants.audit_closed_until is
  'No row of the log may be written with a time before this: its minute is sealed, or is being sealed. A column of the tenant, whose row transactions lock for key share until they end.';
comment on column tenants.audit_set_back_to is 'Where the log is to go on, while it is being set back after a clock ran fast.';
comment on column tenants.closing_mac is
  'Of a deleted tenant: a keyed hash by which the vault knows that it deleted the tenant itself.';

create table tenant_keys (
  tenant_id uuid not null,
  purpose text collate "C" not null,
  version integer not null,
  wrapped bytea not null,
  root_key_id text collate "C" not null,
  state text not null,
  created_at timestamptz not null,
  primary key (tenant_id, purpose, version)
);
comment on table tenant_keys is 'The keys of each tenant, wrapped by a root key.';
comment on column tenant_keys.purpose is 'data, cvc, fingerprint, search, proof or audit. A key of one purpose is never used for another.';
comment on column tenant_keys.wrapped is 'The key, wrapped for its tenant, purpose and version.';
comment on column tenant_keys.root_key_id is 'The root key that wraps it.';
comment on column tenant_keys.state is 'current: seals new values. retired: opens older values.';

create table root_keys (
  id text collate "C" primary key,
  check_value bytea not null,
  threshold integer,
  retired_at timestamptz,
  created_at timestamptz not null
);
comment on table root_keys is 'Each root key that wraps something here. No key, and no data of tenants.';
comment on column root_keys.check_value is 'A wrapped constant, which proves that a key is the one.';
comment on column root_keys.threshold is
  'Of a root key that was split: how many shares give it. A server that finds no key file waits for them.';
comment on column root_keys.retired_at is
  'A root key that is being replaced wraps nothing new: it has its row for as long as something is wrapped by it.';
