-- What the log needs to find out that seals and heads were deleted, and to go on after a clock that was wrong.

-- A chain has other entries than sealed minutes: `set_back` where the log's time was set back, `restart` where an operator had
-- a broken chain go on, and, in the vault's own chain, `attestation` of a tenant's last seal.
alter table audit_seals add column if not exists kind text collate "C" not null default 'minute';
-- Of an attestation: whose seal it names.
alter table audit_seals add column if not exists subject uuid;
-- The layout of the digest.
alter table audit_seals add column if not exists version smallint not null default 1;
-- Neither has a default: the release before cannot insert seals any more, since it knows nothing of what the end of the chain
-- says now. It serves on, and its minutes are sealed by the first replica of this release.
alter table audit_seals alter column version drop default;
alter table audit_seals alter column kind drop default;

-- A minute has a second seal once its time has passed twice. The number alone tells seals apart.
do $$
begin
  if exists (
    select from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey)
    where c.conrelid = 'audit_seals'::regclass and c.contype = 'p' and a.attname = 'window_start'
  ) then
    alter table audit_seals drop constraint audit_seals_pkey;
    alter table audit_seals drop constraint if exists audit_seals_tenant_id_number_key;
    alter table audit_seals add primary key (tenant_id, number);
  end if;
end
$$;
create index if not exists audit_seals_subject on audit_seals (tenant_id, subject, number) where subject is not null;

-- The last attestation of a tenant in the vault's own chain, under the mac of the tenant's head.
alter table audit_heads add column if not exists attested_number bigint;
alter table audit_heads add column if not exists attested_mac bytea;
alter table audit_heads add column if not exists attested_at timestamptz;

-- Rows of minutes that had been closed when the log's time was set back: the number of the `set_back` entry that says so.
-- What is written since then into the same minutes has none, and seals of its own.
alter table audit_logs add column if not exists set_aside bigint;

-- Where the log is to go on, while it is being set back.
alter table tenants add column if not exists audit_set_back_to timestamptz;
-- Of a deleted tenant: a keyed hash by which the vault knows that it deleted the tenant itself.
alter table tenants add column if not exists closing_mac bytea;
