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
-- were emptied: each has a row in audit_heads from its beginning. And may move rows of the log that have no month to one,
-- without a moment in which no row-level security applies.
do $$
begin
  execute format('create policy of_operator on tenants for select to %I using (true)', current_user);
  execute format('create policy of_operator on audit_heads for select to %I using (true)', current_user);
  execute format('create policy of_operator on audit_logs_default to %I using (true)', current_user);
end
$$;

-- Servers whose login does not own the tables make the months of the log by this function: exactly one empty month of
-- it, within five years of today, and nothing else. A table that is attached takes no lock that readers or writers of the
-- other months wait for, as "create table ... partition of" does.
create function make_log_month(month timestamptz) returns void
language plpgsql security definer set timezone = 'UTC' as $function$
declare
  name text := 'audit_logs_' || to_char(month, 'YYYY_MM');
begin
  if (month = date_trunc('month', month) and abs(extract(epoch from month - now())) < 5 * 366 * 86400) is not true then
    raise exception 'not the first moment of a month (UTC) within five years: %', month using errcode = '22023';
  end if;
  execute format('create table %I (like audit_logs including all)', name);
  -- Before it is attached: on many nodes that takes a second, and readers of the log wait for the attachment.
  if to_regclass('pg_dist_partition') is not null then
    if exists (select from pg_dist_partition where logicalrelid = 'audit_logs'::regclass) then
      perform create_distributed_table(name, 'tenant_id', colocate_with => 'tenants');
    end if;
  end if;
  execute format('alter table %I enable row level security', name);
  execute format('alter table %I force row level security', name);
  execute format(
    'alter table audit_logs attach partition %I for values from (%L) to (%L)', name, month, month + interval '1 month'
  );
end
$function$;
revoke all on function make_log_month from public;
grant execute on function make_log_month to cloakroom_app;
-- Its owner's rights are for these tables alone, whatever the caller's search_path finds first.
do $$
begin
  execute format('alter function make_log_month(timestamptz) set search_path = %I, pg_temp', current_schema());
end
$$;
