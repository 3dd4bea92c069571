import { Counter, Gauge, type Registry } from "prom-client";
import type { Database } from "../store/database.js";
import { DUE_KINDS } from "../store/jobs/due.js";
import type { BatchLoad } from "../store/transactions/batch-load.js";

// OpenTelemetry's names, with underscores.
const POOL = "db_client_connection_pool_name";
const STATE = "db_client_connection_state";
const COUNT = "db_client_connection_count";

/** Gauges of connections, queues and pending background work, read at each scrape. */
export function gaugeDatabase(registry: Registry, database: Database, now: () => number): void {
  const registers = [registry];
  const pools = { shared: database.shared, ordinary: database.ordinary, bulk: database.bulk };
  const perPool = (name: string, help: string, read: (load: BatchLoad) => number) =>
    new Gauge({
      name,
      help,
      registers,
      labelNames: [POOL],
      collect() {
        for (const [pool, batcher] of Object.entries(pools)) this.set({ [POOL]: pool }, read(batcher.load));
      },
    });
  perPool("db_client_connection_max", "Connections that a pool has at most.", ({ connections }) => connections);
  gaugeUsed(registry, pools);
  perPool("db_client_connection_pending_requests", "Requests that wait for a transaction.", ({ queued }) => queued);
  const countPerPool = (name: string, help: string, read: (load: BatchLoad) => number) =>
    new Counter({
      name,
      help,
      registers,
      labelNames: [POOL],
      collect() {
        this.reset();
        for (const [pool, batcher] of Object.entries(pools)) this.inc({ [POOL]: pool }, read(batcher.load));
      },
    });
  countPerPool(
    "cloakroom_shared_transactions_total",
    "Transactions that requests shared.",
    ({ transactions }) => transactions,
  );
  countPerPool(
    "cloakroom_shared_transaction_requests_total",
    "Requests in shared transactions.",
    ({ requests }) => requests,
  );
  gaugeSealLag(registry, () => database.oldestDue(), now);
  new Gauge({
    name: "cloakroom_due_age_seconds",
    help: "Age of the oldest minute with background work that is not done, by kind. Above 300, work is falling behind.",
    labelNames: ["kind"],
    // Every process reports the same value.
    aggregator: "max",
    registers,
    async collect() {
      // Readiness reports an unreachable database; the other metrics are all the more useful then.
      const oldest = await database.oldestDue().catch(() => undefined);
      if (!oldest) return this.reset();
      for (const kind of DUE_KINDS) {
        const at = oldest.get(kind);
        this.set({ kind }, at === undefined ? 0 : Math.max(0, (now() - at.getTime()) / 1_000));
      }
    },
  });
}

/** The age of the oldest closed minute of a log that has no seal. Apart from other work that is due: rows without a seal can be changed unseen. */
function gaugeSealLag(registry: Registry, oldestDue: Database["oldestDue"], now: () => number): void {
  new Gauge({
    name: "cloakroom_audit_seal_lag_seconds",
    help: "Age of the oldest minute of a log that is not sealed. A minute is sealed within two.",
    aggregator: "max",
    registers: [registry],
    async collect() {
      const oldest = await oldestDue().catch(() => undefined);
      // Absent rather than 0, which would say that all is sealed.
      if (!oldest) return this.remove();
      const at = oldest.get("log_seal");
      this.set(at === undefined ? 0 : Math.max(0, (now() - at.getTime()) / 1_000));
    },
  });
}

type Pools = Readonly<Record<string, { readonly load: BatchLoad }>>;

function gaugeUsed(registry: Registry, pools: Pools): void {
  new Gauge({
    name: COUNT,
    help: "Connections that a transaction uses now.",
    registers: [registry],
    labelNames: [POOL, STATE],
    collect() {
      for (const [pool, batcher] of Object.entries(pools))
        this.set({ [POOL]: pool, [STATE]: "used" }, batcher.load.used);
    },
  });
}
