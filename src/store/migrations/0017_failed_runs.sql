-- Runs of tenants' code that failed, with what they wrote to the console: kept for a day, for the tenant to read.
create table if not exists failed_runs (
  tenant_id uuid not null,
  id uuid not null,
  -- The reactor or proxy that the code belongs to.
  function_id uuid not null,
  -- Sealed JSON: kind, error, console, usage.
  record bytea not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index if not exists failed_runs_function on failed_runs (tenant_id, function_id, created_at, id);
create index if not exists failed_runs_expired on failed_runs (tenant_id, expires_at);

alter table failed_runs enable row level security;
alter table failed_runs force row level security;
do $$
begin
  if not exists (select from pg_policies where schemaname = current_schema() and tablename = 'failed_runs' and policyname = 'of_tenant') then
    create policy of_tenant on failed_runs to cloakroom_app
      using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
  end if;
end
$$;
grant select, insert, update, delete on failed_runs to cloakroom_app;
