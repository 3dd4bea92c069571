-- The log: which caller did what to which entity. Written in the transaction of the effect.
create table if not exists audit_logs (
  tenant_id uuid not null,
  created_at timestamptz not null,
  id uuid not null,
  actor_id uuid,
  actor_type text,
  entity_type text collate "C" not null,
  entity_id text collate "C" not null,
  operation text not null,
  message text not null,
  primary key (tenant_id, created_at, id)
);
create index if not exists audit_logs_entity on audit_logs (tenant_id, entity_id, created_at, id);
create index if not exists audit_logs_type on audit_logs (tenant_id, entity_type, created_at, id);

-- Responses of operations that were sent with an idempotency key, sealed. Written in the transaction of the effect.
create table if not exists idempotency_keys (
  tenant_id uuid not null,
  key_hash bytea not null,
  -- Keyed hash of the request, to tell a repeat with another body.
  request_hash bytea not null,
  -- The response was 202.
  accepted boolean not null,
  response bytea not null,
  expires_at timestamptz not null,
  primary key (tenant_id, key_hash)
);
create index if not exists idempotency_keys_due on idempotency_keys (tenant_id, expires_at);
