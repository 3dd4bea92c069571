-- Filters of the log that follow no index of 0004. docs/audit.md says which index serves which filter.
create index if not exists audit_logs_actor on audit_logs (tenant_id, actor_id, created_at, id) where actor_id is not null;
-- Refusals are rare. Their filters have this literal condition: a generic plan cannot match a parameter against a partial index.
create index if not exists audit_logs_refused on audit_logs (tenant_id, created_at, id) where outcome <> 'allowed';
create index if not exists audit_logs_destination on audit_logs (tenant_id, destination_host, created_at, id)
  where destination_host is not null;
