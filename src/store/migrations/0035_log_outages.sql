-- Outages of a tenant's log that have not ended: sealing, or a sink, by name.
create table if not exists log_outages (
  tenant_id uuid not null,
  part text collate "C" not null,
  since timestamptz not null,
  primary key (tenant_id, part)
);

alter table log_outages enable row level security;
alter table log_outages force row level security;
do $$
begin
  if not exists (select from pg_policies where schemaname = current_schema() and tablename = 'log_outages' and policyname = 'of_tenant') then
    create policy of_tenant on log_outages to cloakroom_app
      using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
  end if;
end
$$;
grant select, insert, update, delete on log_outages to cloakroom_app;
