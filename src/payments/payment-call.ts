import type { Caller } from "../access/caller.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { OrdinaryTransaction } from "../store/transactions/transaction.js";
import type { Connectors } from "./connectors.js";

/** A caller's change of a payment. */
export interface PaymentCall {
  readonly tx: OrdinaryTransaction;
  readonly caller: Caller;
  readonly keys: TenantKeys;
  /** Log rows name the host that values go to. */
  readonly hosts: Pick<Connectors, "hostOf">;
}
