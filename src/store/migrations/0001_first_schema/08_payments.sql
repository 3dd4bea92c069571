-- Connections to payment services, the payments made through them, and the simulator's own books.
create table connections (
  tenant_id uuid not null,
  id uuid not null,
  formula_id text not null,
  name bytea not null,
  fields bytea not null,
  accepted_countries text[] not null,
  accepted_currencies text[] not null,
  active boolean not null,
  status text not null,
  checks integer not null,
  check_due_at timestamptz,
  revision integer not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id)
);
create index connections_due on connections (tenant_id, check_due_at) where check_due_at is not null;
comment on table connections is 'Accounts of tenants at payment services.';
comment on column connections.formula_id is 'Which payment service, and how it is spoken to.';
comment on column connections.name is 'Sealed.';
comment on column connections.fields is 'Sealed JSON: what the tenant filled in, secrets among it.';
comment on column connections.status is 'pending, available or failed.';
comment on column connections.checks is 'Credentials checks without a clear response so far.';
comment on column connections.check_due_at is 'When the next check is due. Null when none is.';
comment on column connections.revision is 'Rises with every change.';

create table payments (
  tenant_id uuid not null,
  id uuid not null,
  connection_id uuid not null,
  token_id text not null,
  containers text[] not null,
  status text not null,
  external_term bytea,
  provider_id text,
  record bytea not null,
  revision integer not null,
  due_at timestamptz,
  lease_until timestamptz,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index payments_created on payments (tenant_id, created_at, id);
create index payments_status on payments (tenant_id, status, created_at, id);
create index payments_external on payments (tenant_id, external_term, created_at, id) where external_term is not null;
create index payments_provider on payments (tenant_id, connection_id, provider_id) where provider_id is not null;
create index payments_due on payments (tenant_id, due_at) where due_at is not null;
comment on table payments is 'What the interface calls transactions.';
comment on column payments.containers is 'Of the token, which may be gone one day: its containers say who may void.';
comment on column payments.external_term is 'Keyed hash of the caller''s reference.';
comment on column payments.provider_id is 'The payment service''s id.';
comment on column payments.record is 'Sealed JSON: everything else.';
comment on column payments.revision is 'Rises with every change.';
comment on column payments.due_at is 'When the payment service is to be asked again; null when nothing is open.';
comment on column payments.lease_until is 'Until then a process works on it, on the database''s clock.';

create table refunds (
  tenant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  record bytea not null,
  revision integer not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index refunds_payment on refunds (tenant_id, payment_id, created_at, id);
comment on table refunds is 'Refunds of payments.';
comment on column refunds.record is 'Sealed JSON.';
comment on column refunds.revision is 'Rises with every change.';

create table simulator_payments (
  tenant_id uuid not null,
  reference text not null,
  ledger jsonb not null,
  revision integer not null,
  created_at timestamptz not null,
  primary key (tenant_id, reference)
);
comment on table simulator_payments is
  'The simulator''s side of its payments: what a bank would have in its books. No card data.';

create table three_ds_sessions (
  tenant_id uuid not null,
  id uuid not null,
  token_id text not null,
  record bytea not null,
  payment_id uuid,
  revision integer not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index three_ds_sessions_expired on three_ds_sessions (tenant_id, expires_at);
comment on table three_ds_sessions is 'Authentications of cardholders before a payment.';
comment on column three_ds_sessions.record is 'Sealed JSON: what the browser told, and how the authentication went.';
comment on column three_ds_sessions.payment_id is 'The payment that it served. A session serves one.';
comment on column three_ds_sessions.revision is 'Rises with every change.';
