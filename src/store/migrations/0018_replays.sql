-- A keyed hash of the API key that made a request with an idempotency key: only that API key gets the response again. Null in
-- rows of earlier releases.
alter table idempotency_keys add column if not exists maker bytea;
