import type { Connector, ConnectorContext } from "./connector.js";
import type { Formula } from "./formula.js";

export interface Provider {
  readonly formula: Formula;
  readonly accountFields: readonly string[];
  /** Fields that have an effect in live mode only. */
  readonly liveFields?: readonly string[];
  /** Test or live, as the connector reads it. */
  readonly modeOf: (context: Pick<ConnectorContext, "fields">) => string;
  /**
   * How long a repeated request is certain not to be executed twice, in milliseconds: an hour less than the service keeps
   * idempotency keys. Infinite where the connector itself finds earlier requests before it sends one.
   */
  readonly detectsRepeatsForMs: number;
  /** Whether no service is called and no money moves. Absent: no. */
  readonly isSimulated?: true;
  /** Makes its connector. `address` replaces the service's public one. Absent for the simulator. */
  readonly connect?: (address: string | undefined) => Connector;
}
