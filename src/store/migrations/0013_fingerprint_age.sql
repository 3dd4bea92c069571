-- Tokens of one fingerprint by age. Where values are few (yes and no), millions share one: a page sorted all of them.
create index if not exists tokens_fingerprint_age on tokens (tenant_id, fingerprint, created_at, id)
  where fingerprint is not null;
drop index if exists tokens_fingerprint;
