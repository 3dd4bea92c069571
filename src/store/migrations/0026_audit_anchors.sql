-- Time stamps (RFC 3161) over the last seals of tenants. Rows belong to the vault itself: one stamp covers many tenants.
create table if not exists audit_stamps (
  tenant_id uuid not null,
  id uuid not null,
  stamped_at timestamptz not null,
  -- The authority's token, DER.
  token bytea not null,
  primary key (tenant_id, id)
);

-- Entries of tenants' chains that a stamp covers.
create table if not exists audit_anchors (
  tenant_id uuid not null,
  -- Of the entry.
  number bigint not null,
  stamp_id uuid not null,
  -- The neighbours on the way from the entry to the stamped root of the tree, separated by spaces.
  proof text not null,
  primary key (tenant_id, number)
);

do $$
declare
  name text;
begin
  foreach name in array array['audit_stamps', 'audit_anchors'] loop
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
