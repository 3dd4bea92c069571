import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { connect, type DatabaseAddress } from "./connect.js";
import { FAST_LIMITS, Flights, SLOW_LIMITS } from "./flights.js";
import { Lane } from "./lane.js";
import type { Witness } from "./transaction.js";

export interface DatabaseOptions {
  readonly address: DatabaseAddress;
  readonly fastConnections: number;
  readonly slowConnections: number;
  readonly clock: Clock;
}

/** Where everything is stored. All of it runs as `cloakroom_app`, under row-level security. */
export interface Database extends AsyncDisposable {
  /** Short transactions, shared by the requests of a tenant. */
  readonly fast: Flights;
  /** Lists, counts and sweeps: one request a transaction, two seconds a statement. */
  readonly slow: Flights;
  /** @throws when the database does not answer within two seconds. */
  ping(): Promise<void>;
}

const FAST_STATEMENT_MS = 5_000;
const SLOW_STATEMENT_MS = 2_000;

export function openDatabase({ address, fastConnections, slowConnections, clock }: DatabaseOptions): Database {
  const lanes = (count: number, statementTimeout: number) =>
    Array.from({ length: count }, () => new Lane(address, { role: "cloakroom_app", statementTimeout }));
  const wasCommitted = (tenantId: TenantId, witness: Witness) => findLogRow(address, tenantId, witness);
  const fast = new Flights(lanes(fastConnections, FAST_STATEMENT_MS), FAST_LIMITS, clock, wasCommitted);
  const slow = new Flights(lanes(slowConnections, SLOW_STATEMENT_MS), SLOW_LIMITS, clock, wasCommitted);
  const heartbeat = new Lane(address, { role: "cloakroom_app", statementTimeout: 2_000, connectTimeout: 2 });
  return {
    fast,
    slow,
    async ping() {
      const late = setTimeout(() => heartbeat.renew(), 2_000);
      try {
        await heartbeat.sql`select 1`;
      } catch (error) {
        heartbeat.renew();
        throw error;
      } finally {
        clearTimeout(late);
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([fast.close(), slow.close(), heartbeat.close()]);
    },
  };
}

/** Reads a log row on a connection of its own, which sees every commit that happened before it was opened. */
async function findLogRow(address: DatabaseAddress, tenantId: TenantId, { createdAt, id }: Witness): Promise<boolean> {
  const sql = connect(address, { role: "cloakroom_app", connections: 1, statementTimeout: 2_000, connectTimeout: 2 });
  try {
    const [, , rows] = await Promise.all([
      sql.unsafe("begin"),
      sql.unsafe(`set local app.tenant_id = '${tenantId}'`),
      sql`select 1 from audit_logs where tenant_id = ${tenantId} and created_at = ${createdAt} and id = ${id}`,
      sql.unsafe("commit"),
    ]);
    return rows.length > 0;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
