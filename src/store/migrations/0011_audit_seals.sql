-- Seals over the log: one for each tenant and minute that has rows. Without the key, a writer to this database can
-- neither make one nor change a sealed row undetected.
create table if not exists audit_seals (
  tenant_id uuid not null,
  -- The first moment of the minute.
  window_start timestamptz not null,
  -- 1, 2, 3 ... in a tenant: a seal that was taken out leaves a gap.
  number bigint not null,
  row_count bigint not null,
  -- SHA-256 over the rows in the order of (created_at, id).
  digest bytea not null,
  -- The mac of the seal before.
  previous bytea not null,
  key_version integer not null,
  mac bytea not null,
  sealed_at timestamptz not null,
  primary key (tenant_id, window_start),
  unique (tenant_id, number)
);

-- Where the chain of a tenant ends, under a mac of its own: seals cannot be taken off its end unseen.
create table if not exists audit_heads (
  tenant_id uuid not null,
  number bigint not null,
  last_mac bytea not null,
  -- Rows before this were removed when their time was over. Their seals stay.
  kept_from timestamptz,
  key_version integer not null,
  mac bytea not null,
  primary key (tenant_id)
);

-- No row of the log may be written with a time before this: its minute is being sealed, or is. A column of the tenant,
-- whose row transactions lock for key share until they end; a row that is made later could not be locked.
alter table tenants add column if not exists audit_closed_until timestamptz;

do $$
declare
  name text;
begin
  foreach name in array array['audit_seals', 'audit_heads'] loop
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
