import { inspect } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { ConnectionService } from "../../../gen/cloakroom/v1/connections_pb.js";
import { ThreeDSService } from "../../../gen/cloakroom/v1/threeds_pb.js";
import { TransactionService } from "../../../gen/cloakroom/v1/transactions_pb.js";
import { toValue } from "../../../src/services/value.js";
import { openShop, PAYING, type Shop } from "../../support/payments.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";

let shop: Shop;
let key: string;
beforeAll(async () => {
  shop = await openShop();
  const permissions = [...PAYING, "3ds:session:create", "3ds:session:read", "3ds:session:authenticate"];
  ({ key } = await shop.tenant.application({ type: "private", permissions }));
});

const SIMULATOR = {
  ...{ connectionFormulaId: "simulator-card", method: "card", displayName: "RPC" },
  fields: [
    { key: "merchant_id", value: "shop" },
    { key: "webhook_secret", value: "never-to-be-shown" },
  ],
  ...{ acceptedCountries: ["US"], acceptedCurrencies: ["USD"] },
};

describe.each(RPC_PROTOCOLS)("over %s", (protocol) => {
  const order = async (number?: string) => ({
    ...{ amount: 1000n, currency: "USD", connectionId: shop.connectionId, token: await shop.card(number) },
  });

  it("connections are created, listed, replaced and deleted, and never show their secrets", async () => {
    const connections = rpcClient(ConnectionService, protocol, { key: shop.tenant.managementKey });
    const { data: formulas } = await connections.listConnectionFormulas({});
    expect(formulas.map(({ id }) => id)).toContain("authorizenet-card");
    const { id, status, method } = await connections.createConnection(SIMULATOR);
    expect([status, method]).toEqual(["pending", undefined]);
    const replaced = await connections.replaceConnection({ ...SIMULATOR, id, active: false });
    expect(replaced).toMatchObject({ id, method: "card", active: false });
    const listed = await connections.listConnections({});
    expect(listed.data.map((each) => each.id)).toContain(id);
    const read = await connections.getConnection({ id });
    expect(inspect([listed, replaced, read], { depth: null })).not.toContain("never-to-be");
    await connections.deleteConnection({ id });
    expect(await failureOf(connections.getConnection({ id }))).toMatchObject({ code: "NotFound" });
    expect(await failureOf(connections.createConnection({ ...SIMULATOR, method: "sepa" }))).toMatchObject({
      ...{ code: "InvalidArgument", fields: ["method"] },
    });
  });

  it("a payment is captured in part, refunded in part, and the same over REST", async () => {
    const transactions = rpcClient(TransactionService, protocol, { key });
    const made = await transactions.createTransaction({ ...(await order()), externalIdentifier: protocol });
    expect(made).toMatchObject({ type: "transaction", status: "authorization_succeeded", authorizedAmount: 1000n });
    const captured = await transactions.captureTransaction({ id: made.id, amount: 700n });
    expect(captured).toMatchObject({ status: "capture_succeeded", capturedAmount: 700n });
    const refund = await transactions.createRefund({ id: made.id, amount: 200n, reason: "broken" });
    expect(refund).toMatchObject({ status: "succeeded", amount: 200n, transactionId: made.id });
    expect(await transactions.getRefund({ id: refund.id })).toEqual(refund);
    expect((await transactions.listRefunds({ id: made.id })).data).toEqual([refund]);
    const read = await transactions.getTransaction({ id: made.id });
    expect(read).toMatchObject({ refundedAmount: 200n, paymentMethod: { label: "4242", scheme: "visa" } });
    expect(await transactions.syncTransaction({ id: made.id })).toMatchObject({ status: "capture_succeeded" });
    const found = await transactions.listTransactions({ externalIdentifier: protocol });
    expect(found.data.map(({ id }) => id)).toEqual([made.id]);
    const { body } = await shop.backEnd("GET", `/orchestration/transactions/${made.id}`);
    expect(body).toMatchObject({ captured_amount: 700, refunded_amount: 200, status: read.status });
  });

  it("an operation that the state does not allow is rejected, and an idempotency key creates one payment", async () => {
    const headers = { "bt-idempotency-key": `rpc-${protocol}` };
    const keyed = rpcClient(TransactionService, protocol, { key, headers });
    const wanted = await order();
    const [first, again] = [await keyed.createTransaction(wanted), await keyed.createTransaction(wanted)];
    expect(again).toEqual(first);
    const transactions = rpcClient(TransactionService, protocol, { key });
    const { id } = first;
    expect(await transactions.voidTransaction({ id })).toMatchObject({ status: "authorization_voided" });
    const refused = { code: "FailedPrecondition", reason: "wrong_state" };
    expect(await failureOf(transactions.captureTransaction({ id }))).toMatchObject(refused);
    expect(await failureOf(transactions.voidTransaction({ id }))).toMatchObject(refused);
    const bad = { ...wanted, amount: undefined };
    expect(await failureOf(transactions.createTransaction(bad))).toMatchObject({ fields: ["amount"] });
    const declined = await transactions.createTransaction(await order("4000000000000002"));
    expect(declined).toMatchObject({ status: "authorization_declined", errorCode: "issuer_decline" });
  });

  it("a 3DS session is authenticated, and its payment needs no challenge", async () => {
    const sessions = rpcClient(ThreeDSService, protocol, { key });
    const wanted = await order("4000000000003220");
    const { id } = await sessions.createThreeDSSession({ tokenId: wanted.token, device: "browser" });
    const challenged = await sessions.authenticateThreeDSSession({
      ...{ id, authenticationCategory: "payment", authenticationType: "payment-transaction" },
      cardholderInfo: { name: "Ada" },
      purchaseInfo: { amount: "1000", currency: "840", exponent: "2", date: "20260102030405" },
    });
    expect(challenged.authenticationStatus).toBe("challenge");
    const choice = new URLSearchParams({ choice: "approve" });
    await fetch(challenged.acsChallengeUrl ?? "", { method: "POST", body: choice });
    const result = await sessions.getThreeDSChallengeResult({ id });
    expect(result.authenticationStatus).toBe("successful");
    const transactions = rpcClient(TransactionService, protocol, { key });
    const paid = await transactions.createTransaction({ ...wanted, threeDSessionId: toValue({ id }) });
    expect(paid).toMatchObject({ status: "authorization_succeeded", threeDSecure: { status: "complete" } });
  });
});
