import type { CreateConnectionInput, CreateTransactionInput } from "@cloakroom/client";
import { STATUSES } from "../../payments/lifecycle/transaction-states.js";
import type { Action } from "./api-command.js";
import { chosen } from "./chosen.js";

const CONNECTION_COLUMNS = ["id", "connection_formula_id", "display_name", "verification_status", "active"];
const COLUMNS = ["id", "status", "amount", "currency", "payment_method.token", "created_at"];
const REFUND_COLUMNS = ["id", "status", "amount", "currency", "created_at"];

export const listConnections: Action = async (call) => {
  call.showAll(await call.client.connections.list(call.options()), CONNECTION_COLUMNS);
};

export const createConnection: Action = async (call) => {
  call.required("from");
  const input: CreateConnectionInput = JSON.parse(await call.request({}));
  call.output.one(await call.client.connections.create(input, call.options()));
};

export const listTransactions: Action = async (call) => {
  const filter = {
    status: chosen(call, "status", STATUSES),
    externalIdentifier: call.text("external-identifier"),
    reconciliationId: call.text("reconciliation-id"),
    size: call.page().size,
  };
  await call.show(call.client.transactions.list(filter, call.options()), COLUMNS);
};

export const createTransaction: Action = async (call) => {
  const fields = {
    amount: call.whole("amount"),
    currency: call.text("currency"),
    token: call.text("token"),
    connectionId: call.text("connection"),
    intent: call.text("intent"),
    externalIdentifier: call.text("external-identifier"),
    metadata: call.entries("metadata"),
  };
  const input: CreateTransactionInput = JSON.parse(await call.request(fields));
  call.output.one(await call.client.transactions.create(input, call.options()));
};

export const captureTransaction: Action = async (call) => {
  const input = { amount: call.whole("amount") };
  call.output.one(await call.client.transactions.capture(call.argument(0), input, call.options()));
};

export const voidTransaction: Action = async (call) => {
  call.output.one(await call.client.transactions.void(call.argument(0), call.options()));
};

export const syncTransaction: Action = async (call) => {
  call.output.one(await call.client.transactions.sync(call.argument(0), call.options()));
};

export const listRefunds: Action = async (call) => {
  call.showAll(await call.client.transactions.listRefunds(call.argument(0), call.options()), REFUND_COLUMNS);
};

export const getRefund: Action = async (call) => {
  call.output.one(await call.client.transactions.getRefund(call.argument(0), call.options()));
};

export const createRefund: Action = async (call) => {
  const input = { amount: call.whole("amount"), reason: call.text("reason") };
  call.output.one(await call.client.transactions.createRefund(call.argument(0), input, call.options()));
};
