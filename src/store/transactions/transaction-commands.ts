import type { TenantId } from "../../base/ids.js";
import type { Engine } from "../postgres/open-connection.js";
import type { Execution } from "../wire/connection.js";
import { PreparedStatement } from "../wire/prepared-statement.js";

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
 * Resolves when every work has ended or awaits an output: a tick requested in a promise callback runs after all promise
 * callbacks. A turn of the event loop would also do, but takes 30 ms if hundreds of requests arrive in each.
 */
export function everyoneWaits(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}
