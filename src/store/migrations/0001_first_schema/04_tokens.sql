-- Tokens. Whatever a caller wrote is sealed, apart from ids, types and container paths.
create table tokens (
  tenant_id uuid not null,
  id text collate "C" not null,
  type text collate "C" not null,
  data bytea not null,
  attributes bytea,
  containers text[] not null,
  fingerprint bytea,
  dedupe_key bytea,
  expires_at timestamptz,
  expires_at_text text,
  revision integer not null,
  active_month date not null,
  created_by uuid not null,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, dedupe_key)
);
create index tokens_created on tokens (tenant_id, created_at, id);
create index tokens_type on tokens (tenant_id, type, created_at, id);
-- With the age: where values are few (yes and no), millions of tokens share one, and a page would sort all of them.
create index tokens_fingerprint_age on tokens (tenant_id, fingerprint, created_at, id) where fingerprint is not null;
create index tokens_due on tokens (tenant_id, expires_at) where expires_at is not null;
comment on table tokens is 'Tokens and their sealed values.';
comment on column tokens.data is 'Sealed JSON: the value.';
comment on column tokens.attributes is
  'Sealed JSON: mask, metadata, search_indexes, fingerprint_expression. Null when all are the type''s defaults.';
comment on column tokens.fingerprint is 'Keyed hash of type and content.';
comment on column tokens.dedupe_key is
  'The fingerprint while the token is the one that others of the same content are folded into, else null.';
comment on column tokens.expires_at_text is 'As it was given: the published interface shows the offset again.';
comment on column tokens.revision is 'Rises with every change, for compare-and-set. The sealed values are bound to it.';
comment on column tokens.active_month is 'The month the token was last active in: its first use of a month counts once.';

create table token_terms (
  tenant_id uuid not null,
  term bytea not null,
  created_at timestamptz not null,
  token_id text collate "C" not null,
  primary key (tenant_id, term, created_at, token_id)
);
comment on table token_terms is
  'Keyed hashes by which tokens are found: metadata pairs, search index values, containers and all containers above them. An access rule''s prefix is therefore one term, however many containers are below it. Sorted by age under each term, because a page then needs no sort (a GIN index took 4.3 s for the same page at 10 M tokens).';
comment on column token_terms.created_at is 'Of the token.';

create table token_cvc (
  tenant_id uuid not null,
  token_id text collate "C" not null,
  code bytea not null,
  due_at timestamptz not null,
  primary key (tenant_id, token_id)
);
create index token_cvc_due on token_cvc (tenant_id, due_at);
comment on table token_cvc is 'Card verification codes: unreadable after due_at, deleted within a minute more.';
comment on column token_cvc.code is 'Sealed, under a key of its own purpose.';

create table token_counts (
  tenant_id uuid not null,
  type text collate "C" not null,
  slot smallint not null,
  n bigint not null,
  last_created_at timestamptz,
  primary key (tenant_id, type, slot)
);
comment on table token_counts is 'How many tokens of each type there are.';
comment on column token_counts.slot is '0 to 15: writers would queue on a single row.';

create table token_activity (
  tenant_id uuid not null,
  month date not null,
  slot smallint not null,
  n bigint not null,
  primary key (tenant_id, month, slot)
);
comment on table token_activity is
  'How many tokens were created, read or used in a month. tokens.active_month tells which of them are counted already.';
comment on column token_activity.slot is '0 to 15: writers would queue on a single row.';

-- Approvals of exports by two people.
create table token_exports (
  tenant_id uuid not null,
  id uuid not null,
  application_id uuid not null,
  created_by uuid not null,
  approved_by uuid,
  expires_at timestamptz not null,
  definition bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
comment on table token_exports is 'Requests to let an application export tokens, and their approvals. Each lasts an hour.';
comment on column token_exports.created_by is 'The user who asked.';
comment on column token_exports.approved_by is 'The user who approved. Null: the request waits.';
comment on column token_exports.definition is 'Sealed JSON: container, type, reason. Bound to the other columns.';
