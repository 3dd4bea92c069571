-- What an assessor asks of a log row beside who did what to which entity (PCI DSS 10.2.2). Rows of earlier releases have none of it.
-- The key, or the session, that the request was sent with.
alter table audit_logs add column if not exists key_id uuid;
-- The client's address, or its network, as CLOAKROOM_LOG_ADDRESSES says.
alter table audit_logs add column if not exists source_ip inet;
-- A class from a closed list, such as curl: never the header itself.
alter table audit_logs add column if not exists client text collate "C";
alter table audit_logs add column if not exists trace_id uuid;
-- allowed, denied or failed.
alter table audit_logs add column if not exists outcome text collate "C";
-- The error code of what was not allowed, or failed.
alter table audit_logs add column if not exists code text collate "C";
-- How the request was shown the token: reveal, mask or redact.
alter table audit_logs add column if not exists transform text collate "C";
alter table audit_logs add column if not exists destination_host text collate "C";
-- The proxy or reactor that the request went through. An ephemeral proxy has no id.
alter table audit_logs add column if not exists via_type text collate "C";
alter table audit_logs add column if not exists via_id uuid;
-- The caller's words.
alter table audit_logs add column if not exists reason text;

-- The layout of the digest over a minute's rows: 2 covers the columns above. It has no default: the release before, whose digest would
-- leave them out, cannot insert seals. It serves on, and its minutes are sealed by the first replica of this release.
alter table audit_seals add column if not exists digest_version smallint not null default 1;
alter table audit_seals alter column digest_version drop default;
