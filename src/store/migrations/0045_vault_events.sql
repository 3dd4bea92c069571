-- Sinks read the events of the vault's own chain, which are few among its attestations.
create index if not exists audit_seals_events on audit_seals (tenant_id, number) where kind in ('event', 'restart');
