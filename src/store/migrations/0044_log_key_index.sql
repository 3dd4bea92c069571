-- Filters of the log by a key or session. Without it, the rows of a busy application were compared one by one.
create index if not exists audit_logs_key on audit_logs (tenant_id, key_id, created_at, id) where key_id is not null;
