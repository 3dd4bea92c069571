-- Who made a request with an idempotency key, as a keyed hash: what was shown once is shown again to that key alone. Null in
-- rows of earlier releases.
alter table idempotency_keys add column if not exists maker bytea;
