-- Entries of a chain of seals are signed too. An auditor can check an export without any secret. Both columns are
-- null in entries that an earlier release made, and in the vault's own chain.

-- The signed text: what the entry says, and the hash of the signed text before.
alter table audit_seals add column if not exists signed_body text;
-- Ed25519, under a key of the tenant.
alter table audit_seals add column if not exists signature bytea;
