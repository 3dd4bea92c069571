-- Addresses that tenants have events sent to, and the events on their way there.
create table webhooks (
  tenant_id uuid not null,
  id uuid not null,
  events text[] not null,
  enabled boolean not null,
  definition bytea not null,
  revision integer not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id)
);
comment on table webhooks is 'Addresses that events of a tenant are sent to.';
comment on column webhooks.events is 'The types of events that are sent. tenants.event_types has those of all enabled webhooks.';
comment on column webhooks.definition is 'Sealed JSON: name, url, notify_email, secrets.';
comment on column webhooks.revision is 'Rises with every change.';

create table webhook_deliveries (
  tenant_id uuid not null,
  event_id uuid not null,
  webhook_id uuid not null,
  number bigint not null,
  event_type text collate "C" not null,
  entity_type text collate "C" not null,
  entity_id text collate "C" not null,
  actor_id uuid,
  actor_type text collate "C",
  trace_id uuid,
  content bytea not null,
  state text collate "C" not null,
  attempts integer not null,
  claim integer not null,
  due_at timestamptz not null,
  lease_until timestamptz,
  attempted_at timestamptz,
  status integer,
  problem text,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, event_id, webhook_id)
);
create index webhook_deliveries_waiting on webhook_deliveries (tenant_id, webhook_id, entity_id, number, event_id)
  where state = 'waiting';
create index webhook_deliveries_next on webhook_deliveries (tenant_id, webhook_id, number, event_id) where state = 'waiting';
create index webhook_deliveries_created on webhook_deliveries (tenant_id, webhook_id, created_at, event_id);
create index webhook_deliveries_expired on webhook_deliveries (tenant_id, expires_at);
comment on table webhook_deliveries is
  'One event for one webhook. Written in the transaction of the effect, beside its row of the log, and kept for 30 days.';
comment on column webhook_deliveries.event_id is 'The id of the effect''s row in the log.';
comment on column webhook_deliveries.number is
  'Microseconds of the database''s clock when the row was written, in the order of which events are sent. A writer has locked its entity by then, so events of one entity have the order of their effects, whichever server wrote them.';
comment on column webhook_deliveries.content is 'Sealed JSON: what the event says of its entity beside id and type. Bound to the columns that are sent.';
comment on column webhook_deliveries.state is 'waiting, delivered or failed.';
comment on column webhook_deliveries.claim is 'Raised by the replica that claims it: only that replica may write its outcome.';
comment on column webhook_deliveries.status is 'The HTTP status of the last attempt. Null: no response.';
comment on column webhook_deliveries.problem is 'Why the last attempt failed, in fixed words.';

create table webhook_signing_keys (
  tenant_id uuid not null,
  id uuid not null,
  private_key bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
comment on table webhook_signing_keys is
  'The RSA key that signs events of all tenants. Its row belongs to the vault itself, whose keys the root key wraps.';
comment on column webhook_signing_keys.private_key is 'Sealed, PKCS #8.';
