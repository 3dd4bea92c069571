-- How far each sink of the operator has got with a tenant's log.
create table if not exists audit_sinks (
  tenant_id uuid not null,
  sink text collate "C" not null,
  -- The last entry of the chain of seals that the sink has, with all rows before it.
  number bigint not null,
  -- Of the minute of the next entry: the last row that the sink has.
  row_micros bigint,
  row_id uuid,
  -- Rows of the log before this are in the sink, and may be removed after their retention.
  sent_until timestamptz not null,
  primary key (tenant_id, sink)
);

alter table audit_sinks enable row level security;
alter table audit_sinks force row level security;
do $$
begin
  if not exists (select from pg_policies where schemaname = current_schema() and tablename = 'audit_sinks' and policyname = 'of_tenant') then
    create policy of_tenant on audit_sinks to cloakroom_app
      using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
  end if;
end
$$;
grant select, insert, update, delete on audit_sinks to cloakroom_app;

-- Which rows a seal covers depends on the set-backs after it.
create index if not exists audit_seals_set_back on audit_seals (tenant_id, number) where kind = 'set_back';
