import type { OrdinaryCallerTransaction } from "../../access/caller-transaction.js";
import type { Connectors } from "../connections/connectors.js";

export interface PaymentCall {
  readonly tx: OrdinaryCallerTransaction;
  /** Log rows name the host that values go to. */
  readonly hosts: Pick<Connectors, "hostOf">;
}
