-- Reactors and their formulas: a tenant's code with what it is configured with, sealed.
create table reactor_formulas (
  tenant_id uuid not null,
  id uuid not null,
  name bytea not null,
  definition bytea not null,
  revision integer not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id)
);
create index reactor_formulas_created on reactor_formulas (tenant_id, created_at, id);
comment on table reactor_formulas is 'Formulas that a tenant made.';
comment on column reactor_formulas.name is 'Sealed.';
comment on column reactor_formulas.definition is 'Sealed JSON: description, icon, code, configuration, request_parameters.';
comment on column reactor_formulas.revision is 'Rises with every change.';

create table official_formulas (
  id uuid primary key,
  name text not null,
  definition jsonb not null,
  created_at timestamptz not null,
  modified_at timestamptz
);
comment on table official_formulas is 'Formulas of the operator, the same for all tenants. A cluster has a copy on each node.';

create table reactors (
  tenant_id uuid not null,
  id uuid not null,
  name bytea not null,
  definition bytea not null,
  application_id uuid,
  formula_id uuid,
  revision integer not null,
  created_by uuid,
  created_at timestamptz not null,
  modified_by uuid,
  modified_at timestamptz,
  primary key (tenant_id, id)
);
create index reactors_created on reactors (tenant_id, created_at, id);
comment on table reactors is 'Reactors.';
comment on column reactors.name is 'Sealed.';
comment on column reactors.definition is 'Sealed JSON: code, configuration.';
comment on column reactors.application_id is 'The application whose rights the code has.';
comment on column reactors.revision is 'Rises with every change.';

create table reactor_runs (
  tenant_id uuid not null,
  id uuid not null,
  reactor_id uuid not null,
  application_id uuid not null,
  request bytea not null,
  state text not null,
  attempts integer not null,
  claim integer not null,
  due_at timestamptz not null,
  lease_until timestamptz,
  result bytea,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index reactor_runs_due on reactor_runs (tenant_id, due_at) where state <> 'done';
create index reactor_runs_expired on reactor_runs (tenant_id, expires_at);
comment on table reactor_runs is
  'Asynchronous runs: started by the first replica that claims them, and by another one if that replica is gone.';
comment on column reactor_runs.request is
  'Sealed JSON: args as they were sent, references and all, and where the result is posted to.';
comment on column reactor_runs.state is 'queued, running, delivering or done.';
comment on column reactor_runs.attempts is 'Times that it was cut off while running, or that its delivery failed.';
comment on column reactor_runs.claim is
  'Raised by the replica that claims the run: only that replica may write its outcome.';
comment on column reactor_runs.result is 'Sealed JSON: what the call would have returned.';

create table failed_runs (
  tenant_id uuid not null,
  id uuid not null,
  function_id uuid not null,
  record bytea not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
create index failed_runs_function on failed_runs (tenant_id, function_id, created_at, id);
create index failed_runs_expired on failed_runs (tenant_id, expires_at);
comment on table failed_runs is
  'Runs of tenants'' code that failed, with what they wrote to the console: kept for a day, for the tenant to read.';
comment on column failed_runs.function_id is 'The reactor or proxy that the code belongs to.';
comment on column failed_runs.record is 'Sealed JSON: kind, error, console, usage.';
