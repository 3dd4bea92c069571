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

  contextOf(tenantId: TenantId, { fields }: Pick<Connection, "fields">): ConnectorContext {
    return { tenantId, fields, now: new Date(this.#clock.now()), send: this.#http(tenantId) };
  }
}
