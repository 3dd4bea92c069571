import type { Value } from "@bufbuild/protobuf/wkt";
import { type CreateTransactionRequest, TransactionService } from "../../gen/cloakroom/v1/transactions_pb.js";
import { invalid } from "../base/fault.js";
import { parseUuid, type Uuid } from "../base/ids.js";
import { isJsonObject } from "../base/json.js";
import { beginCapture, beginRefund, beginVoid, leasePayment } from "../payments/begin-operation.js";
import { createPayment, type PaymentDraft } from "../payments/create-payment.js";
import type { Payment } from "../payments/payment.js";
import type { PaymentCall } from "../payments/payment-call.js";
import type { PaymentEngine } from "../payments/payment-engine.js";
import type { PaymentSource } from "../payments/payment-request.js";
import { getPayment, getRefund, listPayments, listRefunds } from "../payments/read-payments.js";
import type { Keyring } from "../tenancy/keyring.js";
import { type ServedMethod, serve } from "./call.js";
import { REPLAY_REFUND, replayPayment } from "./replay-payments.js";
import { pageRequest, showPage, uuidOf } from "./show.js";
import { showPayment, showRefund } from "./show-payment.js";
import { toJson } from "./value.js";

export interface TransactionServiceParts {
  readonly keyring: Keyring;
  readonly engine: PaymentEngine;
  readonly hosts: PaymentCall["hosts"];
}

export function transactionService(parts: TransactionServiceParts): ServedMethod[] {
  return [...paymentReads(parts), ...paymentOperations(parts), ...refundMethods(parts)];
}

function paymentReads({ keyring, engine, hosts }: TransactionServiceParts): ServedMethod[] {
  const { method } = TransactionService;
  return [
    serve(method.listTransactions, async ({ status, externalIdentifier, reconciliationId, ...request }, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      const page = pageRequest(request);
      return call.list(
        (tx) => listPayments(tx, call.caller, keys, { ...page, status, externalIdentifier, reconciliationId }),
        (found) => ({ pagination: showPage(found, page), data: found.items.map(showPayment) }),
      );
    }),
    serve(method.getTransaction, async ({ id }, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      return call.transact((tx) => getPayment(tx, call.caller, keys, uuidOf(id)), showPayment);
    }),
    serve(method.syncTransaction, async ({ id }, call) => {
      const { caller } = call;
      const keys = await keyring.of(caller.tenantId);
      const leased = await call.commit((tx) => leasePayment({ tx, caller, keys, hosts }, uuidOf(id)));
      return showPayment(await engine.reconcile(keys, caller.tenantId, leased));
    }),
  ];
}

function paymentOperations({ keyring, engine, hosts }: TransactionServiceParts): ServedMethod[] {
  const { method } = TransactionService;
  return [
    serve(
      method.createTransaction,
      async (request, call) => {
        const { caller } = call;
        const keys = await keyring.of(caller.tenantId);
        const draft = readDraft(request);
        await engine.awaitConnection(caller.tenantId, draft.connectionId, call.signal);
        return call.engage(
          {
            begin: async (tx) => withSubject(await createPayment({ tx, caller, keys, hosts }, draft)),
            act: (begun) => engine.send(keys, caller.tenantId, begun.payment, begun.connection, begun.card),
            resume: (tx, id) => getPayment(tx, caller, keys, id),
          },
          showPayment,
        );
      },
      { replay: replayPayment("token:use") },
    ),
    serve(
      method.captureTransaction,
      async ({ id, amount }, call) => {
        const { caller } = call;
        const keys = await keyring.of(caller.tenantId);
        const wanted = amount === undefined ? undefined : Number(amount);
        return call.engage(
          {
            begin: async (tx) => withSubject(await beginCapture({ tx, caller, keys, hosts }, uuidOf(id), wanted)),
            act: (begun) => engine.send(keys, caller.tenantId, begun.payment, begun.connection, undefined),
            resume: (tx, subject) => getPayment(tx, caller, keys, subject, "capture"),
          },
          showPayment,
        );
      },
      { replay: replayPayment("capture") },
    ),
    serve(
      method.voidTransaction,
      async ({ id }, call) => {
        const { caller } = call;
        const keys = await keyring.of(caller.tenantId);
        return call.engage(
          {
            begin: async (tx) => withSubject(await beginVoid({ tx, caller, keys, hosts }, uuidOf(id))),
            act: (begun) => engine.send(keys, caller.tenantId, begun.payment, begun.connection, undefined),
            resume: (tx, subject) => getPayment(tx, caller, keys, subject),
          },
          showPayment,
        );
      },
      { replay: replayPayment("token:use") },
    ),
  ];
}

function refundMethods({ keyring, engine, hosts }: TransactionServiceParts): ServedMethod[] {
  const { method } = TransactionService;
  return [
    serve(
      method.createRefund,
      async ({ id, amount, reason }, call) => {
        const { caller } = call;
        const keys = await keyring.of(caller.tenantId);
        const wanted = amount === undefined ? undefined : Number(amount);
        return call.engage(
          {
            begin: async (tx) => {
              const begun = await beginRefund({ tx, caller, keys, hosts }, uuidOf(id), wanted, reason);
              return { ...begun, subject: begun.refund.id };
            },
            act: async (begun) => {
              await engine.send(keys, caller.tenantId, begun.payment, begun.connection, undefined);
              return engine.refund(keys, caller.tenantId, begun.refund);
            },
            resume: (tx, subject) => getRefund(tx, caller, keys, subject),
          },
          showRefund,
        );
      },
      { replay: REPLAY_REFUND },
    ),
    serve(method.listRefunds, async ({ id }, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      return call.transact(
        (tx) => listRefunds(tx, call.caller, keys, uuidOf(id)),
        (refunds) => ({ pagination: { limit: Math.max(refunds.length, 20) }, data: refunds.map(showRefund) }),
      );
    }),
    serve(method.getRefund, async ({ id }, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      return call.transact((tx) => getRefund(tx, call.caller, keys, uuidOf(id)), showRefund);
    }),
  ];
}

/** The payment is the subject of a repeated request. */
function withSubject<T extends { readonly payment: Payment }>(begun: T) {
  return { ...begun, subject: begun.payment.id };
}

function readDraft(request: CreateTransactionRequest): PaymentDraft {
  return {
    connectionId: uuidOf(request.connectionId),
    tokenId: request.token,
    order: {
      ...{ amount: Number(request.amount), currency: request.currency.toUpperCase() },
      country: request.country?.toUpperCase(),
      intent: request.intent === "capture" ? "capture" : "authorize",
      externalIdentifier: request.externalIdentifier,
      paymentSource: sourceOf(request.paymentSource),
      isMerchantInitiated: request.merchantInitiated ?? false,
      isSubsequentPayment: request.isSubsequentPayment ?? false,
      // An empty text names no transaction.
      previousSchemeTransactionId: request.previousSchemeTransactionId || undefined,
      metadata: request.metadata,
    },
    threeDSSessionId: request.threeDSessionId && readSessionId(request.threeDSessionId),
  };
}

function sourceOf(text: string | undefined): PaymentSource {
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
