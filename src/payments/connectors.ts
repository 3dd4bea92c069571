import type { TenantId } from "../base/ids.js";
import type { Connection } from "./connection.js";
import type { Connector, ConnectorContext } from "./connector.js";
import type { FormulaId } from "./formulas.js";
import type { ProviderHttp } from "./provider-http.js";

/** The payment services that this server speaks to, by formula. */
export class Connectors {
  readonly #connectors: ReadonlyMap<FormulaId, Connector>;
  readonly #http: (tenantId: TenantId) => ProviderHttp;

  constructor(connectors: readonly Connector[], http: (tenantId: TenantId) => ProviderHttp) {
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

  contextOf(tenantId: TenantId, { fields }: Pick<Connection, "fields">, now: Date): ConnectorContext {
    return { tenantId, fields, now, send: this.#http(tenantId) };
  }
}
