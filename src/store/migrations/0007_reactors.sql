-- Reactors and their formulas: a tenant's code with what it is configured with, sealed. Official formulas are the
-- operator's, the same for all tenants.
create table if not exists reactor_formulas (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  -- Sealed JSON: description, icon, code, configuration, request_parameters.
  definition bytea not null,
  revision integer not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id)
);
create index if not exists reactor_formulas_created on reactor_formulas (tenant_id, created_at, id);

create table if not exists reactors (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  -- Sealed JSON: code, configuration.
  definition bytea not null,
  application_id uuid,
  formula_id uuid,
  revision integer not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id)
);
create index if not exists reactors_created on reactors (tenant_id, created_at, id);

-- Asynchronous runs: started by the first replica that claims them, and by another one if that replica is gone.
create table if not exists reactor_runs (
  tenant_id uuid not null,
  id uuid not null,
  reactor_id uuid not null,
  application_id uuid not null,
  -- Sealed JSON: args as they were sent, references and all, and where the result is posted to.
  request bytea not null,
  -- queued, running, delivering or done.
  state text not null,
  -- Times that it was cut off while running, or that its delivery failed.
  attempts integer not null,
  -- Raised by the replica that claims the run: only that replica may write its outcome.
  claim integer not null,
  due_at timestamptz not null,
  lease_until timestamptz,
  -- Sealed JSON: what the call would have returned.
  result bytea,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index if not exists reactor_runs_due on reactor_runs (tenant_id, due_at) where state <> 'done';
create index if not exists reactor_runs_expired on reactor_runs (tenant_id, expires_at);

create table if not exists official_formulas (
  id uuid primary key,
  name text not null,
  definition jsonb not null,
  created_at timestamptz not null,
  modified_at timestamptz
);
grant select on official_formulas to cloakroom_app;

do $$
declare
  name text;
begin
  foreach name in array array['reactor_formulas', 'reactors', 'reactor_runs'] loop
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
