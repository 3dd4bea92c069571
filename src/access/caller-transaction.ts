import type { Actor } from "../audit/actor.js";
import { type TenantTransaction, TenantWork } from "../audit/tenant-transaction.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { OrdinaryTransaction, Transaction } from "../store/transactions/transaction.js";
import { type Caller, loggedActor } from "./caller.js";

/** A {@link TenantTransaction} on behalf of a caller, who is the author of its log rows. */
export interface CallerTransaction extends TenantTransaction {
  readonly caller: Caller;
  readonly author: Actor;
  /** The same transaction on behalf of another caller, such as the application that a proxy acts as. */
  actingAs(caller: Caller): CallerTransaction;
}

/** What work of a caller before its transaction, which touches no row, shares with the transaction. */
export type CallerContext = Pick<CallerTransaction, "caller" | "keys" | "now">;

/** A {@link CallerTransaction} that may lock rows and await anything. */
export type OrdinaryCallerTransaction = OrdinaryTransaction &
  Omit<CallerTransaction, "actingAs"> & { actingAs(caller: Caller): OrdinaryCallerTransaction };

export function callerTransaction(tx: OrdinaryTransaction, keys: TenantKeys, caller: Caller): OrdinaryCallerTransaction;
export function callerTransaction(tx: Transaction, keys: TenantKeys, caller: Caller): CallerTransaction;
export function callerTransaction(tx: Transaction, keys: TenantKeys, caller: Caller): OrdinaryCallerTransaction {
  return new CallerWork(tx, keys, caller);
}

class CallerWork extends TenantWork implements OrdinaryCallerTransaction {
  readonly caller: Caller;
  #author: Actor | undefined;

  constructor(tx: Transaction | OrdinaryTransaction, keys: TenantKeys, caller: Caller) {
    super(tx, keys);
    this.caller = caller;
  }

  override get author(): Actor {
    this.#author ??= loggedActor(this.caller);
    return this.#author;
  }

  /** The caller's revision guards the transaction, and the webhooks with it. */
  override listensTo(eventType: string): boolean {
    return this.caller.eventTypes.includes(eventType);
  }

  actingAs(caller: Caller): OrdinaryCallerTransaction {
    return new CallerWork(this.tx, this.keys, caller);
  }
}
