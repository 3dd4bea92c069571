-- Applications, their keys, and sessions. Keys and nonces are stored as hashes only. What decides access is sealed, because the
-- owner of the database must not change it; so are names that tenants give.
create table applications (
  tenant_id uuid not null,
  id uuid not null,
  type text not null,
  name bytea not null,
  definition bytea not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id)
);
create index applications_created on applications (tenant_id, created_at, id);
comment on table applications is 'Programs and pages that a tenant gives keys to.';
comment on column applications.type is 'private, public or management.';
comment on column applications.name is 'Sealed. The same as in the definition, for searches, which would open all definitions.';
comment on column applications.definition is 'Sealed JSON: name, permissions, rules, and what pages may do. Bound to the type.';

create table application_keys (
  tenant_id uuid not null,
  id uuid not null,
  application_id uuid not null,
  key_hash bytea not null,
  proof bytea not null,
  details bytea,
  created_by uuid,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, key_hash),
  foreign key (tenant_id, application_id) references applications (tenant_id, id) on delete cascade
);
create index application_keys_of on application_keys (tenant_id, application_id, created_at, id);
comment on table application_keys is 'API keys.';
comment on column application_keys.key_hash is 'SHA-256 of the key.';
comment on column application_keys.details is 'Sealed JSON: name and owner. Null without either.';
comment on column application_keys.expires_at is 'From then on the key is refused. The proof is bound to it.';
comment on column application_keys.last_used_at is 'The last row of the log that the key left, noted when its minute is sealed.';
comment on column application_keys.proof is 'Sealed, empty: bound to the application and the hash of the key.';

create table sessions (
  tenant_id uuid not null,
  id uuid not null,
  key_hash bytea not null,
  nonce_hash bytea not null,
  application_id uuid not null,
  rights bytea not null,
  authorized_by uuid,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, key_hash),
  unique (tenant_id, nonce_hash)
);
create index sessions_due on sessions (tenant_id, expires_at);
comment on table sessions is 'Keys of browsers that expire soon, and have the rights that a private application gives them.';
comment on column sessions.key_hash is 'SHA-256 of the session''s key.';
comment on column sessions.nonce_hash is 'SHA-256 of the text by which an application names the session to authorize it.';
comment on column sessions.application_id is 'The application whose key made the session.';
comment on column sessions.rights is
  'Sealed JSON: permissions and rules; bound to the key, the application, the authorizer and the end of the session.';
comment on column sessions.authorized_by is 'The application that gave the rights. Null until then.';
