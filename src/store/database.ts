import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { type DueKind, type DueMinute, type DueRange, listDue, listOldestDue } from "./jobs/due.js";
import { Lease } from "./jobs/lease.js";
import { SharedLeases, type SharedLeasesOptions } from "./jobs/shared-leases.js";
import type { ConnectOptions, DatabaseAddress, Sql } from "./postgres/connect.js";
import { ConnectionSlot } from "./postgres/connection-slot.js";
import { toStoreError } from "./postgres/database-error.js";
import { probeDisk } from "./postgres/disk-probe.js";
import { RenewableConnection } from "./postgres/renewable-connection.js";
import { probeService, type ServiceProbe } from "./postgres/service-probe.js";
import { type BatchLimits, BULK_LIMITS, ORDINARY_LIMITS, SHARED_LIMITS } from "./transactions/batch-limits.js";
import { commitLookupIn } from "./transactions/commit-lookup.js";
import type { JointOptions, JointWork } from "./transactions/joint-transaction.js";
import { JointTransactions } from "./transactions/joint-transactions.js";
import { standbyWaitIn } from "./transactions/standby-wait.js";
import type { Authority, OrdinaryTransaction, Work } from "./transactions/transaction.js";
import { TransactionBatcher } from "./transactions/transaction-batcher.js";

export interface DatabaseOptions {
  readonly address: DatabaseAddress;
  readonly sharedConnections: number;
  readonly bulkConnections: number;
  /** Absent: as many as bulk ones. */
  readonly ordinaryConnections?: number;
  readonly clock: Clock;
}

/**
 * Transactions of one tenant. Each runs work and returns its result once it is committed.
 * @throws {StaleAuthorization} if the tenant's rights have changed since the {@link Authority}.
 * @throws {Fault} unavailable if the queue is full, rows stay locked, the database stays away or there is no memory;
 *   any error of the work.
 */
export interface TenantTransactions {
  /** The hot path: short transactions, shared by requests of the tenant. */
  shared<T>(work: Work<T>): Promise<T>;
  /** Reads and changes of single entities: one request a transaction, five seconds a statement. */
  ordinary<T>(work: Work<T, OrdinaryTransaction>): Promise<T>;
  /** Lists, counts and sweeps: one request a transaction, two seconds a statement. */
  bulk<T>(work: Work<T, OrdinaryTransaction>): Promise<T>;
}

/** The store. Everything runs as `cloakroom_app`, under row-level security. */
export interface Database extends AsyncDisposable {
  /**
   * Transactions of a tenant.
   * @param authority of the caller. Absent for the server's own work, which no change of rights stops.
   */
  of(tenantId: TenantId, authority?: Authority): TenantTransactions;
  readonly shared: Pick<
    TransactionBatcher,
    "load" | "confirmedAt" | "isBusy" | "queued" | "overloadFault" | "requireRoom"
  >;
  readonly ordinary: Pick<TransactionBatcher, "load">;
  readonly bulk: Pick<TransactionBatcher, "load">;
  /**
   * Runs the server's own works on several tenants in one transaction, and returns their values. Works may run twice.
   * @throws the first error; nothing is stored then, unless the commit was not acknowledged.
   */
  jointly<T>(works: readonly JointWork<T>[], options?: JointOptions): Promise<readonly T[]>;
  /** The minutes up to now, later than `after`, in which tenants have work of these kinds. */
  due<Kind extends DueKind>(kinds: readonly Kind[], range: DueRange): Promise<readonly DueMinute<Kind>[]>;
  /** The earliest noted minute of each kind of work. */
  oldestDue(): Promise<ReadonlyMap<string, Date>>;
  /** A named lock that this process may acquire. */
  lease(name: string, seconds: number): Lease;
  /** Leases of the parts of some work, which replicas share. */
  sharedLeases(options: SharedLeasesOptions): SharedLeases;
  /** Calls `listener` when a tenant's log is found to be closed beyond this server's clock. */
  onClosedMinute(listener: (tenantId: TenantId) => void): void;
  /**
   * Tries to serve a request as tenants send it.
   * @throws if the database does not respond within two seconds.
   */
  probe(): Promise<ServiceProbe>;
  /**
   * The time by the database's clock.
   * @throws if it does not respond within two seconds.
   */
  ping(): Promise<Date>;
  /**
   * Whether the database takes writes. Free unless a transaction has failed for lack of disk space; then it writes some
   * pages.
   */
  takesWrites(): Promise<boolean>;
}

const SHARED_STATEMENT_MS = 5_000;
const ORDINARY_STATEMENT_MS = 5_000;
const BULK_STATEMENT_MS = 2_000;
/** How long an unresponsive cluster node can delay the readiness check. */
const PROBE_STATEMENT_MS = 1_000;

/** Connections outside of the pools: for leases, readiness, due minutes, and transactions over several tenants. */
export const SINGLE_CONNECTIONS = 4;

/** Half of the connections serve shared transactions, a quarter ordinary ones, and a quarter lists and sweeps. */
export function splitConnections(
  connections: number,
): Required<Pick<DatabaseOptions, "sharedConnections" | "bulkConnections" | "ordinaryConnections">> {
  const quarter = Math.max(1, Math.floor(connections / 4));
  return {
    sharedConnections: connections - 2 * quarter,
    ordinaryConnections: quarter,
    bulkConnections: quarter,
  };
}

export function openDatabase(options: DatabaseOptions): Database {
  const { address } = options;
  const pools = openPools(options);
  const { shared, ordinary, bulk } = pools;
  const batchers = [shared, ordinary, bulk];
  const jointSlot = new ConnectionSlot(address, { role: "cloakroom_app", statementTimeout: BULK_STATEMENT_MS });
  const joint = new JointTransactions(jointSlot, options.clock, standbyWaitIn(address));
  // A lease that waited for a standby would be dropped and tried again, each time with another connection.
  const heartbeat = new RenewableConnection(address, {
    role: "cloakroom_app",
    commitsLocally: true,
    statementTimeout: 2_000,
    connectTimeout: 2,
  });
  const readiness = new RenewableConnection(address, {
    role: "cloakroom_app",
    statementTimeout: PROBE_STATEMENT_MS,
    connectTimeout: 2,
  });
  const jobs = new RenewableConnection(address, { role: "cloakroom_jobs", statementTimeout: BULK_STATEMENT_MS });
  return {
    of: (tenantId, authority) => new TransactionsOfTenant(pools, tenantId, authority),
    shared,
    ordinary,
    bulk,
    jointly: (works, options) => joint.run(works, options),
    due: (kinds, range) => renewing(jobs, (sql) => listDue(sql, kinds, range)),
    oldestDue: () => renewing(jobs, listOldestDue),
    lease: (name, seconds) => new Lease((query) => renewing(heartbeat, query), name, seconds),
    sharedLeases: (options) => new SharedLeases((query) => renewing(heartbeat, query), options),
    async probe() {
      const probe = await renewing(readiness, probeService, 2_000);
      // A session may refuse writes that a new one takes.
      if (probe.failing > 0) readiness.renew();
      return probe;
    },
    onClosedMinute(listener) {
      for (const batcher of batchers) batcher.onClosedMinute = listener;
    },
    async ping() {
      const [row] = await renewing(heartbeat, (sql) => sql<{ now: Date }[]>`select clock_timestamp() as now`, 2_000);
      if (!row) throw new Error("the database returned no row for its clock");
      return row.now;
    },
    async takesWrites() {
      if (!batchers.some(({ lacksDisk }) => lacksDisk)) return true;
      const takes = await renewing(heartbeat, probeDisk).then(
        () => true,
        () => false,
      );
      if (takes) for (const batcher of batchers) batcher.lacksDisk = false;
      return takes;
    },
    async [Symbol.asyncDispose]() {
      const closing = [...batchers, joint, heartbeat, readiness, jobs].map((each) => each.close());
      await Promise.all(closing);
    },
  };
}

type Pools = Readonly<Record<"shared" | "ordinary" | "bulk", TransactionBatcher>>;

/** A class, because the hot path makes one for each request. */
class TransactionsOfTenant implements TenantTransactions {
  readonly #pools: Pools;
  readonly #tenantId: TenantId;
  readonly #authority: Authority | undefined;

  constructor(pools: Pools, tenantId: TenantId, authority: Authority | undefined) {
    this.#pools = pools;
    this.#tenantId = tenantId;
    this.#authority = authority;
  }

  shared<T>(work: Work<T>): Promise<T> {
    return this.#pools.shared.run(this.#tenantId, this.#authority?.revision, work, this.#authority?.memory);
  }

  ordinary<T>(work: Work<T, OrdinaryTransaction>): Promise<T> {
    return this.#pools.ordinary.run(this.#tenantId, this.#authority?.revision, work, this.#authority?.memory);
  }

  bulk<T>(work: Work<T, OrdinaryTransaction>): Promise<T> {
    return this.#pools.bulk.run(this.#tenantId, this.#authority?.revision, work, this.#authority?.memory);
  }
}

function openPools({
  address,
  sharedConnections,
  bulkConnections,
  ordinaryConnections = bulkConnections,
  clock,
}: DatabaseOptions): Pools {
  const unsure = { wasCommitted: commitLookupIn(address), waitsForStandby: standbyWaitIn(address) };
  const pool = (
    connections: number,
    limits: BatchLimits,
    options: Pick<ConnectOptions, "statementTimeout" | "walksIndexes">,
  ) => {
    const slots = Array.from(
      { length: connections },
      () => new ConnectionSlot(address, { role: "cloakroom_app", ...options }),
    );
    return new TransactionBatcher(slots, leavingOne(limits, connections), clock, unsure);
  };
  return {
    shared: pool(sharedConnections, SHARED_LIMITS, { statementTimeout: SHARED_STATEMENT_MS }),
    ordinary: pool(ordinaryConnections, ORDINARY_LIMITS, { statementTimeout: ORDINARY_STATEMENT_MS }),
    bulk: pool(bulkConnections, BULK_LIMITS, { statementTimeout: BULK_STATEMENT_MS, walksIndexes: true }),
  };
}

/** Leaves at least one connection to other tenants, whose transactions would otherwise wait for this tenant's. */
function leavingOne(limits: BatchLimits, connections: number): BatchLimits {
  return {
    ...limits,
    transactionsPerTenant: Math.max(1, Math.min(limits.transactionsPerTenant, connections - 1)),
  };
}

/**
 * Runs a query outside of the transaction pools. After any failure, or `timeoutMs` without a result, the
 * connection is replaced. The database's own statement timeout is shorter, but has no effect if the database or the
 * network stops responding.
 */
async function renewing<T>(
  connection: RenewableConnection,
  run: (sql: Sql) => PromiseLike<T>,
  timeoutMs = 5_000,
): Promise<T> {
  const late = setTimeout(() => connection.renew(), timeoutMs);
  try {
    return await run(connection.sql);
  } catch (error) {
    connection.renew();
    throw toStoreError(error);
  } finally {
    clearTimeout(late);
  }
}
