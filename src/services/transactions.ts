import type { Value } from "@bufbuild/protobuf/wkt";
import { type CreateTransactionRequest, TransactionService } from "../../gen/cloakroom/v1/transactions_pb.js";
import { invalid } from "../base/fault.js";
import { parseUuid, type Uuid } from "../base/ids.js";
import { isJsonObject } from "../base/json.js";
import type { PaymentSource } from "../payments/contract/payment-request.js";
import type { Payment } from "../payments/lifecycle/payment.js";
import { beginCapture, beginRefund, beginVoid, leasePayment } from "../payments/operations/begin-operation.js";
import { createPayment, type PaymentDraft } from "../payments/operations/create-payment.js";
import type { PaymentCall } from "../payments/operations/payment-call.js";
import { getPayment, getRefund, listPayments, listRefunds } from "../payments/operations/read-payments.js";
import type { PaymentEngine } from "../payments/payment-engine.js";
import { type ServedMethod, serve } from "./call.js";
import { REPLAY_REFUND, replayPayment } from "./replay-payments.js";
import { pageRequest, showItems, storedUuid } from "./show.js";
import { showPayment, showRefund } from "./show-payment.js";
import { toJson } from "./value.js";

export interface TransactionServiceParts {
  readonly engine: PaymentEngine;
  readonly hosts: PaymentCall["hosts"];
}

export function transactionService(parts: TransactionServiceParts): ServedMethod[] {
  return [...paymentReads(parts), ...paymentOperations(parts), ...refundMethods(parts)];
}

function paymentReads({ engine, hosts }: TransactionServiceParts): ServedMethod[] {
  const { method } = TransactionService;
  return [
    serve(method.listTransactions, async ({ status, externalIdentifier, reconciliationId, ...request }, call) => {
      const page = pageRequest(request);
      return call.list(
        (tx) => listPayments(tx, { ...page, status, externalIdentifier, reconciliationId }, call.signal),
        showItems(page, showPayment),
      );
    }),
    serve(method.getTransaction, async ({ id }, call) =>
      call.transact((tx) => getPayment(tx, storedUuid(id)), showPayment),
    ),
    serve(method.syncTransaction, async ({ id }, call) => {
      const leased = await call.commit((tx) => leasePayment({ tx, hosts }, storedUuid(id)));
      return showPayment(await engine.reconcile(call.keys, leased), call.caller);
    }),
  ];
}

function paymentOperations({ engine, hosts }: TransactionServiceParts): ServedMethod[] {
  const { method } = TransactionService;
  return [
    serve(
      method.createTransaction,
      async (request, call) => {
        const draft = readDraft(request);
        await engine.awaitConnection(call.caller.tenantId, draft.connectionId, call.signal);
        return call.operate(
          {
            begin: async (tx) => withSubject(await createPayment({ tx, hosts }, draft)),
            carryOut: (begun) => engine.send(call.keys, begun),
            resume: (tx, id) => getPayment(tx, id),
          },
          showPayment,
        );
      },
      { replay: replayPayment("token:use") },
    ),
    serve(
      method.captureTransaction,
      async ({ id, amount }, call) => {
        const wanted = amount === undefined ? undefined : Number(amount);
        return call.operate(
          {
            begin: async (tx) => withSubject(await beginCapture({ tx, hosts }, storedUuid(id), wanted)),
            carryOut: (begun) => engine.send(call.keys, begun),
            resume: (tx, subject) => getPayment(tx, subject, "capture"),
          },
          showPayment,
        );
      },
      { replay: replayPayment("capture") },
    ),
    serve(
      method.voidTransaction,
      async ({ id }, call) =>
        call.operate(
          {
            begin: async (tx) => withSubject(await beginVoid({ tx, hosts }, storedUuid(id))),
            carryOut: (begun) => engine.send(call.keys, begun),
            resume: (tx, subject) => getPayment(tx, subject),
          },
          showPayment,
        ),
      { replay: replayPayment("token:use") },
    ),
  ];
}

function refundMethods({ engine, hosts }: TransactionServiceParts): ServedMethod[] {
  const { method } = TransactionService;
  return [
    serve(
      method.createRefund,
      async ({ id, amount, reason }, call) => {
        const wanted = amount === undefined ? undefined : Number(amount);
        return call.operate(
          {
            begin: async (tx) => {
              const begun = await beginRefund({ tx, hosts }, storedUuid(id), wanted, reason);
              return { ...begun, subject: begun.refund.id };
            },
            carryOut: async (begun) => {
              await engine.send(call.keys, begun);
              return engine.refund(call.keys, begun.refund);
            },
            resume: (tx, subject) => getRefund(tx, subject),
          },
          showRefund,
        );
      },
      { replay: REPLAY_REFUND },
    ),
    serve(method.listRefunds, async ({ id }, call) =>
      call.transact(
        (tx) => listRefunds(tx, storedUuid(id)),
        (refunds) => ({ pagination: { limit: Math.max(refunds.length, 20) }, data: refunds.map(showRefund) }),
      ),
    ),
    serve(method.getRefund, async ({ id }, call) => call.transact((tx) => getRefund(tx, storedUuid(id)), showRefund)),
  ];
}

/** The payment is the subject of a repeated request. */
function withSubject<T extends { readonly payment: Payment }>(begun: T) {
  return { ...begun, subject: begun.payment.id };
}

function readDraft(request: CreateTransactionRequest): PaymentDraft {
  return {
    connectionId: storedUuid(request.connectionId),
    tokenId: request.token,
    order: {
      amount: Number(request.amount),
      currency: request.currency.toUpperCase(),
      country: request.country?.toUpperCase(),
      intent: request.intent === "capture" ? "capture" : "authorize",
      externalIdentifier: request.externalIdentifier,
      paymentSource: paymentSource(request.paymentSource),
      isMerchantInitiated: request.merchantInitiated ?? false,
      isSubsequentPayment: request.isSubsequentPayment ?? false,
      // An empty text names no transaction.
      previousSchemeTransactionId: request.previousSchemeTransactionId || undefined,
      metadata: request.metadata,
    },
    threeDSSessionId: request.threeDSessionId && readSessionId(request.threeDSessionId),
  };
}

function paymentSource(text: string | undefined): PaymentSource {
  return text === "card_on_file" || text === "recurring" ? text : "ecommerce";
}

/** The id itself, or an object with the id as `id`: both are documented. Null means no session. */
function readSessionId(value: Value): Uuid | undefined {
  const given = toJson(value, "three_d_session_id");
  if (given === null) return undefined;
  const id = isJsonObject(given) ? given.id : given;
  const parsed = typeof id === "string" ? parseUuid(id) : undefined;
  if (!parsed) throw invalid("three_d_session_id", "must be the id of a 3DS session, or an object with it as id");
  return parsed;
}
