-- Row-level security is the second line behind tenant_id in every where. nullif matters: after one `set local` the
-- setting stays on the connection as an empty text, and the bare cast would fail with 22P02.
do $$
declare
  name text;
begin
  foreach name in array array[
    'tenants', 'tenant_keys', 'members', 'applications', 'application_keys', 'sessions', 'tokens', 'token_terms',
    'token_cvc', 'token_counts', 'token_activity', 'audit_logs', 'idempotency_keys', 'due'
  ] loop
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

-- Sweeps look for due tenants of all tenants, and see nothing else.
do $$
begin
  if not exists (select from pg_policies where schemaname = current_schema() and tablename = 'due' and policyname = 'of_jobs') then
    create policy of_jobs on due for select to cloakroom_jobs using (true);
  end if;
end
$$;
grant select on due to cloakroom_jobs;

-- A login of its own for the application must find out that it has a schema to run on, and that its root key fits.
grant select on root_keys, migrations to cloakroom_app;
grant select, insert, update, delete on leases to cloakroom_app;

-- The owner of the tables may list the tenants, by name and state; `cloakroom tenants list` does.
do $$
begin
  if not exists (select from pg_policies where schemaname = current_schema() and tablename = 'tenants' and policyname = 'of_operator') then
    execute format('create policy of_operator on tenants for select to %I using (true)', current_user);
  end if;
end
$$;
