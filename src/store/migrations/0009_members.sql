-- Invitations, and the messages that carry their links.
create table if not exists invitations (
  tenant_id uuid not null,
  id uuid not null,
  -- Sealed: the address.
  email bytea not null,
  -- Keyed hash of the lower-case address: one invitation an address.
  email_term bytea not null,
  role text not null,
  -- SHA-256 of each link that works. Every attempt to send has a link of its own, because links are never stored.
  link_hashes bytea[] not null,
  -- Rises when it is sent again: messages of an earlier revision are not sent any more.
  revision integer not null,
  expires_at timestamptz not null,
  -- The member who accepted it. Kept until it would have expired, because a second click shows the result of the first.
  member_id uuid,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, email_term)
);
create index if not exists invitations_created on invitations (tenant_id, created_at, id);
create index if not exists invitations_accepted on invitations (tenant_id, expires_at) where member_id is not null;

-- Messages that are to be sent, written in the transaction that gives rise to them. Deleted once sent.
create table if not exists outbox (
  tenant_id uuid not null,
  id uuid not null,
  invitation_id uuid not null,
  invitation_revision integer not null,
  attempts integer not null,
  -- Raised by the replica that claims the message: only that replica may write its outcome.
  claim integer not null,
  due_at timestamptz not null,
  lease_until timestamptz,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index if not exists outbox_due on outbox (tenant_id, due_at);

do $$
declare
  name text;
begin
  foreach name in array array['invitations', 'outbox'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    if not exists (select from pg_policies where schemaname = current_schema() and tablename = name and policyname = 'of_tenant') then
      execute format(
        'create policy of_tenant on %I to cloakroom_app using (tenant_id = nullif(current_setting(''app.tenant_id'', true), '''')::uuid)',
        name
      );
    end if;
    execute format('grant select, insert, update, delete on %I to cloakroom_app', name);
  end loop;
end
$$;
