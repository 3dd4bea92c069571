-- A root key that is being replaced wraps nothing new: it has its row for as long as something is wrapped by it.
alter table root_keys add column if not exists retired_at timestamptz;
-- Of a root key that was split: how many shares bring it back. A server that finds no key file waits for them.
alter table root_keys add column if not exists threshold integer;
