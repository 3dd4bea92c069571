-- Work that is due, messages that are to be sent, and responses that are kept for repeated requests.
create table due (
  tenant_id uuid not null,
  kind text collate "C" not null,
  due_at timestamptz not null,
  primary key (tenant_id, kind, due_at)
);
-- The kind comes first: a month of minutes for a sink that is down must not lie before the minutes of other work.
create index due_by_kind on due (kind, due_at, tenant_id);
comment on table due is
  'Which tenants have something to do, by kind, to the minute. All that cloakroom_jobs may read.';

create table outbox (
  tenant_id uuid not null,
  id uuid not null,
  invitation_id uuid,
  invitation_revision integer,
  sign_in_request_id uuid,
  passkey_id uuid,
  webhook_id uuid,
  attempts integer not null,
  claim integer not null,
  due_at timestamptz not null,
  lease_until timestamptz,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index outbox_due on outbox (tenant_id, due_at);
comment on table outbox is
  'Messages that are to be sent, written in the transaction that gives rise to them. Deleted once sent.';
comment on column outbox.invitation_id is 'A message is about an invitation, a sign-in, a passkey that waits for the OWNER, or a webhook that was disabled.';
comment on column outbox.claim is 'Raised by the replica that claims the message: only that replica may write its outcome.';

create table idempotency_keys (
  tenant_id uuid not null,
  key_hash bytea not null,
  request_hash bytea not null,
  maker bytea not null,
  accepted boolean not null,
  response bytea,
  subject uuid,
  lease_until timestamptz,
  expires_at timestamptz not null,
  primary key (tenant_id, key_hash)
);
create index idempotency_keys_due on idempotency_keys (tenant_id, expires_at);
comment on table idempotency_keys is
  'Responses of operations that were sent with an idempotency key, and of batches of imports. Written in the transaction of the effect.';
comment on column idempotency_keys.key_hash is 'Keyed hash of the idempotency key.';
comment on column idempotency_keys.request_hash is 'Keyed hash of the request, to tell a repeat with another body.';
comment on column idempotency_keys.maker is
  'Keyed hash of the API key that made the request: only that API key gets the response again.';
comment on column idempotency_keys.accepted is 'The response was 202.';
comment on column idempotency_keys.response is
  'Sealed. Null while the outcome of an operation with outside effects is open: it stores its key before it acts.';
comment on column idempotency_keys.subject is 'What such an operation made.';
comment on column idempotency_keys.lease_until is 'Until then no other request may look the outcome up.';

-- Made by the program before any migration.
comment on table leases is 'Which process does a piece of work that only one may do.';
comment on table migrations is 'Every migration that ran, with the version of the program that ran it.';
