import type { Connector, ConnectorContext } from "./connector.js";
import type { Formula } from "./formula.js";

/** All that the vault knows about a payment service. */
export interface Provider {
  readonly formula: Formula;
  /** The fields of a connection that identify its account at the service. */
  readonly accountFields: readonly string[];
  /** Fields that have an effect in live mode only. */
  readonly liveFields?: readonly string[];
  /** Test or live, as the connector reads it. */
  readonly modeOf: (context: Pick<ConnectorContext, "fields">) => string;
  /**
   * How long a request may be sent again if the service does not show whether it has it, in milliseconds: an hour less
   * than the service detects repetitions. Later it could execute the request a second time.
   */
  readonly resendMs: number;
  /** Whether no service is called and no money moves. Absent: no. */
  readonly isSimulated?: true;
  /** Makes its connector. `address` replaces the service's public one. Absent for the simulator. */
  readonly connect?: (address: string | undefined) => Connector;
}
