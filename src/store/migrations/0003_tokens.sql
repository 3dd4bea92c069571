-- Tokens. Whatever a caller wrote is sealed, apart from ids, types and container paths.
create table if not exists tokens (
  tenant_id uuid not null,
  id text collate "C" not null,
  type text collate "C" not null,
  -- Sealed JSON: the value.
  data bytea not null,
  -- Sealed JSON: mask, metadata, search_indexes, fingerprint_expression. Null when all are the type's defaults.
  attributes bytea,
  containers text[] not null,
  fingerprint bytea,
  -- The fingerprint while the token is the one that others of the same content are folded into, else null.
  dedupe_key bytea,
  expires_at timestamptz,
  -- As it was given: the published interface shows the offset again.
  expires_at_text text,
  -- Rises with every change, for compare-and-set.
  revision integer not null,
  -- The month the token was last active in: its first use of a month counts once.
  active_month date not null,
  created_by uuid not null,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, dedupe_key)
);
create index if not exists tokens_created on tokens (tenant_id, created_at, id);
create index if not exists tokens_type on tokens (tenant_id, type, created_at, id);
create index if not exists tokens_fingerprint on tokens (tenant_id, fingerprint) where fingerprint is not null;
create index if not exists tokens_due on tokens (tenant_id, expires_at) where expires_at is not null;

-- Keyed hashes by which tokens are found: metadata pairs, search index values, containers and all containers above them.
-- An access rule's prefix is therefore one term, however many containers are below it. Sorted by age under each term,
-- because a page then needs no sort (a GIN index took 4.3 s for the same page at 10 M tokens).
create table if not exists token_terms (
  tenant_id uuid not null,
  term bytea not null,
  created_at timestamptz not null,
  token_id text collate "C" not null,
  primary key (tenant_id, term, created_at, token_id)
);

-- Card verification codes: unreadable after due_at, deleted within a minute more.
create table if not exists token_cvc (
  tenant_id uuid not null,
  token_id text collate "C" not null,
  code bytea not null,
  due_at timestamptz not null,
  primary key (tenant_id, token_id)
);
create index if not exists token_cvc_due on token_cvc (tenant_id, due_at);

-- How many tokens of each type there are, in 16 slots: writers would queue on a single row.
create table if not exists token_counts (
  tenant_id uuid not null,
  type text collate "C" not null,
  slot smallint not null,
  n bigint not null,
  last_created_at timestamptz,
  primary key (tenant_id, type, slot)
);

-- How many tokens were created, read or used in a month. tokens.active_month tells which of them are counted already.
create table if not exists token_activity (
  tenant_id uuid not null,
  month date not null,
  slot smallint not null,
  n bigint not null,
  primary key (tenant_id, month, slot)
);
