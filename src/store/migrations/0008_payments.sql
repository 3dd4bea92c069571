-- Connections to payment services, the payments made through them, and the simulator's own books.
create table if not exists connections (
  tenant_id uuid not null,
  id uuid not null,
  formula_id text not null,
  display_name text not null,
  -- Sealed JSON: what the tenant filled in, secrets among it.
  fields bytea not null,
  accepted_countries text[] not null,
  accepted_currencies text[] not null,
  active boolean not null,
  -- pending, available or failed.
  status text not null,
  -- Credentials checks without a clear response so far, and when the next is due; null when none is.
  checks integer not null,
  check_due_at timestamptz,
  revision integer not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id)
);
create index if not exists connections_due on connections (tenant_id, check_due_at) where check_due_at is not null;

-- What the interface calls transactions. The token may be gone one day: its containers say who may void.
create table if not exists payments (
  tenant_id uuid not null,
  id uuid not null,
  connection_id uuid not null,
  token_id text not null,
  containers text[] not null,
  status text not null,
  -- A keyed hash of the caller's reference.
  external_term bytea,
  -- The payment service's id.
  provider_id text,
  -- Sealed JSON: everything else.
  record bytea not null,
  revision integer not null,
  -- When the payment service is to be asked again; null when nothing is open.
  due_at timestamptz,
  -- Until then a process works on it, on the database's clock.
  lease_until timestamptz,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index if not exists payments_created on payments (tenant_id, created_at, id);
create index if not exists payments_status on payments (tenant_id, status, created_at, id);
create index if not exists payments_external on payments (tenant_id, external_term, created_at, id) where external_term is not null;
create index if not exists payments_provider on payments (tenant_id, connection_id, provider_id) where provider_id is not null;
create index if not exists payments_due on payments (tenant_id, due_at) where due_at is not null;

create table if not exists refunds (
  tenant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  -- Sealed JSON.
  record bytea not null,
  revision integer not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index if not exists refunds_payment on refunds (tenant_id, payment_id, created_at, id);

-- The simulator's side of its payments: what a bank would have in its books. No card data.
create table if not exists simulator_payments (
  tenant_id uuid not null,
  reference text not null,
  ledger jsonb not null,
  revision integer not null,
  created_at timestamptz not null,
  primary key (tenant_id, reference)
);

create table if not exists three_ds_sessions (
  tenant_id uuid not null,
  id uuid not null,
  token_id text not null,
  -- Sealed JSON: what the browser told, and how the authentication went.
  record bytea not null,
  -- The payment that it served. A session serves one.
  payment_id uuid,
  revision integer not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index if not exists three_ds_sessions_expired on three_ds_sessions (tenant_id, expires_at);

-- Operations with outside effects store their key before they act: what they made, and how long no other request may look it up.
alter table idempotency_keys add column if not exists subject uuid;
alter table idempotency_keys add column if not exists lease_until timestamptz;
alter table idempotency_keys alter column response drop not null;

do $$
declare
  name text;
begin
  foreach name in array array['connections', 'payments', 'refunds', 'simulator_payments', 'three_ds_sessions'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    if not exists (select from pg_policies where schemaname = current_schema() and tablename = name and policyname = 'of_tenant') then
      execute format(
        'create policy of_tenant on %I to cloakroom_app using (tenant_id = nullif(current_setting(''app.tenant_id'', true), '''')::uuid)',
        name
      );
    end if;
    execute format('grant select, insert, update, delete on %I to cloakroom_app', name);
  end loop;
end
$$;
