import type { OrdinaryCallerTransaction } from "../../access/caller-transaction.js";
import type { Connectors } from "../connections/connectors.js";

/** A caller's change of a payment. */
export interface PaymentCall {
  readonly tx: OrdinaryCallerTransaction;
  /** Log rows name the host that values go to. */
  readonly hosts: Pick<Connectors, "hostOf">;
}
