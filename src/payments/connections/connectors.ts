import type { Clock } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { Connector, ConnectorContext } from "../contract/connector.js";
import type { FormulaId } from "../contract/formula.js";
import type { ProviderHttp } from "../contract/provider-http.js";
import type { Connection } from "./connection.js";

export class Connectors {
  readonly #connectors: ReadonlyMap<FormulaId, Connector>;
  readonly #http: (tenantId: TenantId) => ProviderHttp;
  readonly #clock: Clock;

  constructor(connectors: readonly Connector[], http: (tenantId: TenantId) => ProviderHttp, clock: Clock) {
    this.#clock = clock;
    this.#connectors = new Map(connectors.map((connector) => [connector.formulaId, connector]));
    this.#http = http;
  }

  has(id: FormulaId): boolean {
    return this.#connectors.has(id);
  }

  of(id: FormulaId): Connector {
    const connector = this.#connectors.get(id);
    if (!connector) throw new Error(`no connector speaks to ${id}`);
    return connector;
  }

  /** The host that values go to, for log rows. Undefined for the simulator. */
  hostOf({ formula, fields }: Pick<Connection, "formula" | "fields">): string | undefined {
    return this.of(formula.id).hostOf({ fields });
  }

  /** For one operation, whose first call follows at once. */
  contextOf(tenantId: TenantId, { fields }: Pick<Connection, "fields">): ConnectorContext {
    const http = this.#http(tenantId);
    const until = performance.now() + CALLS_BEGIN_WITHIN_MS;
    const send: ProviderHttp = async (call) =>
      performance.now() < until ? http(call) : { kind: "never_sent", reason: "no_time" };
    return { tenantId, fields, now: new Date(this.#clock.now()), send };
  }
}

/**
 * Milliseconds in which the calls of an operation begin: pages of a list, and what follows a 429. With the 20 s that the
 * last one may take, the operation ends before another process may work on its payment.
 */
const CALLS_BEGIN_WITHIN_MS = 20_000;
