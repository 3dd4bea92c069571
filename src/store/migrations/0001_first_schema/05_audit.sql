-- The log, its seals, and how far its receivers have got.
create table audit_logs (
  tenant_id uuid not null,
  created_at timestamptz not null,
  id uuid not null,
  actor_id uuid,
  actor_type text,
  entity_type text collate "C" not null,
  entity_id text collate "C" not null,
  operation text not null,
  message text not null,
  key_id uuid,
  source_ip inet,
  client text collate "C",
  trace_id uuid,
  outcome text collate "C" not null,
  code text collate "C",
  transform text collate "C",
  destination_host text collate "C",
  via_type text collate "C",
  via_id uuid,
  reason text,
  changes text,
  set_aside bigint,
  entity_hash bigint not null generated always as (hashtextextended(entity_id, uuid_hash_extended(tenant_id, 0))) stored,
  primary key (id, tenant_id, created_at)
) partition by range (created_at);
-- The program makes a partition for each month before it begins. This one takes rows without a month, so no write fails.
create table audit_logs_default partition of audit_logs default;
-- docs/audit.md says which index serves which filter. Rows of one transaction have one time: an index without the id keeps
-- their positions under one key, which takes 17 bytes a row instead of 105.
create index audit_logs_time on audit_logs (tenant_id, created_at);
create index audit_logs_entity on audit_logs (entity_hash, created_at);
create index audit_logs_actor on audit_logs (tenant_id, actor_id, created_at) where actor_id is not null;
create index audit_logs_key on audit_logs (tenant_id, key_id, created_at) where key_id is not null;
create index audit_logs_destination on audit_logs (tenant_id, destination_host, created_at)
  where destination_host is not null;
-- Refusals are rare. Their filters have this literal condition: a generic plan cannot match a parameter against a partial index.
create index audit_logs_refused on audit_logs (tenant_id, created_at) where outcome <> 'allowed';
-- Types whose rows are few. Of the others a tenant with many rows has some among the newest.
create index audit_logs_rare_type on audit_logs (tenant_id, entity_type, created_at) where entity_type not in (
  'token', 'bank', 'card', 'card_number', 'employer_id_number', 'social_security_number', 'us_bank_account_number',
  'us_bank_routing_number', 'proxy', 'reactor', 'session'
);
comment on table audit_logs is
  'The log: which caller did what to which entity (PCI DSS 10.2.2). Written in the transaction of the effect.';
comment on column audit_logs.actor_id is 'The application or person that acted. Null: the vault or its operator.';
comment on column audit_logs.key_id is 'The key, or the session, that the request was sent with.';
comment on column audit_logs.source_ip is 'The client''s address, or its network, as CLOAKROOM_LOG_ADDRESSES says.';
comment on column audit_logs.client is 'A class from a closed list, such as curl: never the header itself.';
comment on column audit_logs.outcome is 'allowed, denied or failed.';
comment on column audit_logs.code is 'The error code of what was not allowed, or failed.';
comment on column audit_logs.transform is 'How the request was shown the token: reveal, mask or redact.';
comment on column audit_logs.via_type is 'The proxy or reactor that the request went through. An ephemeral proxy has no id.';
comment on column audit_logs.reason is 'The caller''s words.';
comment on column audit_logs.changes is
  'What a change of rights, roles or settings changed: JSON, without values of tokens and without secrets.';
comment on column audit_logs.entity_hash is
  'Of the tenant and the entity: 8 bytes in an index, where the two take 53. A column, because row-level security keeps conditions on functions of a column from an index.';
comment on column audit_logs.set_aside is
  'Of rows in minutes that had been closed when the log''s time was set back: the number of the set_back entry that says so. Rows that are written into the same minutes later have none, and seals of their own.';

create table audit_seals (
  tenant_id uuid not null,
  number bigint not null,
  kind text collate "C" not null,
  version smallint not null,
  window_start timestamptz not null,
  row_count bigint not null,
  digest bytea not null,
  subject uuid,
  previous bytea not null,
  key_version integer not null,
  mac bytea not null,
  signed_body text,
  signature bytea,
  sealed_at timestamptz not null,
  primary key (tenant_id, number)
);
create index audit_seals_subject on audit_seals (tenant_id, subject, number) where subject is not null;
create index audit_seals_set_back on audit_seals (tenant_id, number) where kind = 'set_back';
create index audit_seals_events on audit_seals (tenant_id, number) where kind in ('event', 'restart');
comment on table audit_seals is
  'Chains of seals over the log: in each tenant''s, one for each minute that has rows. Without the key, a writer to this database can neither make one nor change a sealed row undetected.';
comment on column audit_seals.number is '1, 2, 3 ... in a tenant: a seal that was taken out leaves a gap.';
comment on column audit_seals.kind is
  'minute: a seal. set_back: the log''s time was set back. restart: an operator had a broken chain go on. In the vault''s own chain also attestation of a tenant''s last seal, and event: a row of the vault''s own log.';
comment on column audit_seals.version is 'Of the layouts of the digest, the mac and the signed text.';
comment on column audit_seals.window_start is 'The first moment of the minute. A minute has a second seal once its time has passed twice.';
comment on column audit_seals.digest is 'The root of a hash tree over the rows, in the order of (created_at, id).';
comment on column audit_seals.subject is 'Of an attestation: the tenant whose seal it names.';
comment on column audit_seals.previous is 'The mac of the entry before.';
comment on column audit_seals.signed_body is
  'The signed text: what the entry says, and the hash of the signed text before. Null in the vault''s own chain, which no auditor reads.';
comment on column audit_seals.signature is 'Ed25519, under a key of the tenant. An auditor can check an export without any secret.';

create table audit_heads (
  tenant_id uuid not null,
  version smallint not null,
  number bigint not null,
  last_mac bytea not null,
  kept_from timestamptz,
  archived_from timestamptz,
  attested_number bigint,
  attested_mac bytea,
  attested_at timestamptz,
  key_version integer not null,
  mac bytea not null,
  primary key (tenant_id)
);
comment on table audit_heads is
  'Where the chain of a tenant ends, under a mac of its own: seals cannot be taken off its end unseen.';
comment on column audit_heads.version is 'Of the mac''s layout.';
comment on column audit_heads.number is 'Of the last entry.';
comment on column audit_heads.kept_from is 'Rows before this were removed when their time was over. Their seals stay.';
comment on column audit_heads.archived_from is
  'Rows from here until kept_from are in the archive: a file for each month. Null: none are.';
comment on column audit_heads.attested_number is 'The last attestation of the tenant in the vault''s own chain.';

create table audit_sinks (
  tenant_id uuid not null,
  sink text collate "C" not null,
  number bigint not null,
  row_micros bigint,
  row_id uuid,
  sent_until timestamptz not null,
  primary key (tenant_id, sink)
);
comment on table audit_sinks is 'How far each sink of the operator has got with a tenant''s log.';
comment on column audit_sinks.number is 'The last entry of the chain of seals that the sink has, with all rows before it.';
comment on column audit_sinks.row_micros is 'Of the minute of the next entry: the time of the last row that the sink has.';
comment on column audit_sinks.row_id is 'The id of that row.';
comment on column audit_sinks.sent_until is
  'Rows of the log before this are in the sink, and may be removed after their retention.';

create table audit_stamps (
  tenant_id uuid not null,
  id uuid not null,
  stamped_at timestamptz not null,
  token bytea not null,
  primary key (tenant_id, id)
);
comment on table audit_stamps is
  'Time stamps (RFC 3161) over the last seals of tenants. Rows belong to the vault itself: one stamp covers many tenants.';
comment on column audit_stamps.token is 'The authority''s token, DER.';

create table audit_anchors (
  tenant_id uuid not null,
  number bigint not null,
  stamp_id uuid not null,
  proof text not null,
  primary key (tenant_id, number)
);
comment on table audit_anchors is 'Entries of tenants'' chains that a stamp covers.';
comment on column audit_anchors.number is 'Of the entry.';
comment on column audit_anchors.proof is
  'The neighbours on the way from the entry to the stamped root of the tree, separated by spaces.';

create table log_outages (
  tenant_id uuid not null,
  part text collate "C" not null,
  since timestamptz not null,
  primary key (tenant_id, part)
);
comment on table log_outages is 'Outages of a tenant''s log that have not ended.';
comment on column log_outages.part is 'Sealing, or a sink, by name.';

create table log_counts (
  tenant_id uuid not null,
  step text collate "C" not null,
  at timestamptz not null,
  operation text collate "C" not null,
  entity_type text collate "C" not null,
  outcome text collate "C" not null,
  shown text collate "C" not null,
  n bigint not null,
  primary key (tenant_id, step, at, operation, entity_type, outcome, shown)
);
comment on table log_counts is
  'How many rows of the log say the same, for charts. Counted when their minute is sealed, in the same transaction. Not sealed themselves.';
comment on column log_counts.step is 'hour or day, in UTC. Both count the same rows; days are kept longer.';
comment on column log_counts.shown is 'The transform of the rows. Empty: none.';

create table log_actor_counts (
  tenant_id uuid not null,
  day timestamptz not null,
  actor_type text collate "C" not null,
  actor_id uuid not null,
  outcome text collate "C" not null,
  shown text collate "C" not null,
  n bigint not null,
  primary key (tenant_id, day, actor_id, outcome, shown)
);
comment on table log_actor_counts is
  'How many rows of the log each actor left on a day in UTC, counted like log_counts. Kept no longer than the rows.';
comment on column log_actor_counts.actor_id is 'Nil: all actors beyond the first 500 of the day, together.';
