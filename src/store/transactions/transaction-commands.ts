import type { TenantId } from "../../base/ids.js";
import type { Engine } from "../postgres/open-connection.js";
import { boundQuery } from "../statements/bound-statement.js";
import { bigint } from "../statements/parameter.js";
import { StatementBatch, type StatementContext } from "../statements/statement-batch.js";
import type { Connection } from "../wire/connection.js";
import { PreparedStatement } from "../wire/prepared-statement.js";
import type { Execution } from "../wire/step.js";
import type { Guard } from "./started-works.js";

/** A statement of the transaction itself, without rows to read. */
export class Command implements Execution {
  readonly statement: PreparedStatement;
  readonly writeValues: Execution["writeValues"];
  tag: string | undefined;
  hasWarned = false;

  constructor(statement: PreparedStatement, writeValues: Execution["writeValues"] = () => {}) {
    this.statement = statement;
    this.writeValues = writeValues;
  }

  takeRow(): void {}

  takeTag(tag: string): void {
    this.tag = tag;
  }

  takeWarning(): void {
    this.hasWarned = true;
  }
}

export const BEGIN = new PreparedStatement("begin", [], []);
export const COMMIT = new PreparedStatement("commit", [], []);
/** The commit waits for neither the disk nor a standby. */
export const COMMIT_LATER = new PreparedStatement("set local synchronous_commit = off", [], []);
export const ROLLBACK = new PreparedStatement("rollback", [], []);
export const DISCARD_PLANS = new PreparedStatement("discard plans", [], []);

const TEXT = 25;
const SET_TENANT = new PreparedStatement(
  "select set_config('app.tenant_id', $1, true)",
  [{ type: TEXT, format: 0 }],
  [],
);

/**
 * Citus propagates `set local` to its workers, and no other form of setting. Without it the workers show no rows. The
 * text is made for each tenant and not kept.
 */
export function setTenant(engine: Engine, tenantId: TenantId): Command {
  return engine === "citus"
    ? // The literal is safe because a TenantId is a UUID.
      new Command(PreparedStatement.unnamed(`set local app.tenant_id = '${tenantId}'`))
    : new Command(SET_TENANT, (out) => out.textValue(tenantId));
}

/**
 * Milliseconds that a statement of a pipeline may take, and wait for a lock: the transactions of other tenants wait
 * behind it. Its transaction then runs again apart from them, with the connection's own time-outs.
 */
const PIPELINED_STATEMENT_MS = 1_000;
const PIPELINED_LOCK_MS = 100;

const SET_PIPELINED_TENANT = new PreparedStatement(
  `select set_config('app.tenant_id', $1, true), set_config('synchronous_commit', 'off', true),
    set_config('lock_timeout', '${PIPELINED_LOCK_MS}', true),
    set_config('statement_timeout', '${PIPELINED_STATEMENT_MS}', true)`,
  [{ type: TEXT, format: 0 }],
  [],
);

/** Opens a transaction of a pipeline, whose commit waits for nothing: {@link MAKE_DURABLE} does for all of them. */
export function setPipelinedTenant(tenantId: TenantId): Command {
  return new Command(SET_PIPELINED_TENANT, (out) => out.textValue(tenantId));
}

/** A write whose commit waits for the disk and the standbys, and thus for all commits of its session before it. */
export const MAKE_DURABLE = new PreparedStatement("select pg_logical_emit_message(true, 'cloakroom', '')", [], []);

/**
 * Fails unless an active tenant has the revision that the requests were authorized under. The division by zero is
 * deliberate: one statement that can fail the transaction without a round trip to read its result.
 */
const CHECK_REVISION = boundQuery<number, undefined, undefined>({
  kind: "read",
  table: "tenants",
  position: "first",
  sql: `
    select 1 / (count(*))::int from tenants
    where tenant_id = :tenant and auth_revision = :revision and state = 'active'`,
  parameters: { revision: bigint((revision) => revision) },
  row: () => undefined,
  outputs: (_, revisions) => revisions.map(() => undefined),
});

export function addGuard(connection: Connection, guard: Guard, context: StatementContext): void {
  if (guard === undefined) return;
  const check = new StatementBatch();
  CHECK_REVISION.joinTo(check, guard);
  check.addTo(connection, context);
}
