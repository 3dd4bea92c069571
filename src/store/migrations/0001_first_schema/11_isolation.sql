-- Row-level security is the second line behind tenant_id in every where. nullif matters: after one `set local` the
-- setting stays on the connection as an empty text, and the bare cast would fail with 22P02.
do $$
declare
  name text;
begin
  for name in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
  loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    -- No role but the owner uses a partition by its name.
    continue when (select c.relispartition from pg_class c where c.oid = to_regclass(quote_ident(name)));
    execute format(
      'create policy of_tenant on %I to cloakroom_app using (tenant_id = nullif(current_setting(''app.tenant_id'', true), '''')::uuid)',
      name
    );
    execute format('grant select, insert, update, delete on %I to cloakroom_app', name);
  end loop;
end
$$;

-- Sweeps look for due tenants of all tenants, and see nothing else.
create policy of_jobs on due for select to cloakroom_jobs using (true);
grant select on due to cloakroom_jobs;

-- A login of its own for the application must find out that it has a schema to run on, and that its root key fits.
grant select on root_keys, migrations, official_formulas to cloakroom_app;
grant select, insert, update, delete on leases to cloakroom_app;

-- The owner of the tables may list the tenants, by name and state; `cloakroom tenants list` does. And may see which logs
-- were emptied: each has a row in audit_heads from its beginning.
do $$
begin
  execute format('create policy of_operator on tenants for select to %I using (true)', current_user);
  execute format('create policy of_operator on audit_heads for select to %I using (true)', current_user);
end
$$;
