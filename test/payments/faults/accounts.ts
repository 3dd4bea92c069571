import type { Connector, ConnectorContext } from "../../../src/payments/contract/connector.js";
import { type Bench, contextOf } from "../connectors/bench.js";

/** The fields that select another account of each service, and those that may change within an account. */
export const FIELDS: Readonly<Record<string, { readonly account: string; readonly key: string }>> = {
  "adyen-card": { account: "merchant_account", key: "api_key" },
  "authorizenet-card": { account: "merchant_account_id", key: "transaction_key" },
  "checkoutcom-card": { account: "secret_key", key: "secret_key" },
  "stripe-card": { account: "secret_key", key: "secret_key" },
};

/**
 * A value that selects the other account. Every other value that a stand-in does not know is a new key of the first.
 */
export const OTHER = "theOtherAccount";

/** One payment service with two accounts. */
export function accountsOf(own: Bench, other: Bench): Connector {
  const account = (context: ConnectorContext) =>
    [...context.fields.values()].some((value) => value.reveal() === OTHER) ? other : own;
  const known = (context: ConnectorContext) => ({ ...context, fields: contextOf(account(context)).fields });
  return {
    formulaId: own.connector.formulaId,
    hostOf: (context) => own.connector.hostOf(context),
    authorize: (context, request) => account(context).connector.authorize(known(context), request),
    capture: (context, request) => account(context).connector.capture(known(context), request),
    void: (context, request) => account(context).connector.void(known(context), request),
    refund: (context, request) => account(context).connector.refund(known(context), request),
    lookUp: (context, payment) => account(context).connector.lookUp(known(context), payment),
    finishApproval: (context, approval) => account(context).connector.finishApproval(known(context), approval),
    checkCredentials: (context) => account(context).connector.checkCredentials(known(context)),
    readWebhook: (context, delivery) => account(context).connector.readWebhook(known(context), delivery),
  };
}
