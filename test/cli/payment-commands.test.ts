import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { type CommandResult, cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { openShop, type Shop } from "../support/payments.js";

let shop: Shop;
const directory = newDirectory();
beforeAll(async () => {
  shop = await openShop();
});

const as = async (key: string, ...args: string[]): Promise<CommandResult> =>
  cloakroom({ CLOAKROOM_URL: inject("serverUrl"), CLOAKROOM_API_KEY: key, XDG_CONFIG_HOME: directory }, ...args);
const pay = async (...args: string[]) => {
  const { code, stdout, stderr } = await as(shop.backEnd.key, ...args, "--json");
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
};
const manage = (...args: string[]) => as(shop.tenant.managementKey, ...args);

describe("cloakroom transactions and refunds", () => {
  it("authorize, capture in part, refund and list", async () => {
    const to = ["--connection", shop.connectionId, "--currency", "USD", "--token", await shop.card()];
    const order = ["--amount", "1250", "--external-identifier", "order-17", "--metadata", "n=1"];
    const paid = await pay("transactions", "create", ...to, ...order);
    expect(paid).toMatchObject({
      status: "authorization_succeeded",
      amount: 1250,
      metadata: { n: "1" },
      external_identifier: "order-17",
    });
    expect(await pay("transactions", "capture", paid.id, "--amount", "1000")).toMatchObject({ captured_amount: 1000 });
    const refund = await pay("refunds", "create", paid.id, "--amount", "400", "--reason", "returned goods");
    expect(refund).toMatchObject({ transaction_id: paid.id, amount: 400, reason: "returned goods" });
    expect(await pay("refunds", "get", refund.id)).toEqual(refund);
    expect(await pay("refunds", "list", paid.id)).toEqual([refund]);
    expect(await pay("transactions", "get", paid.id)).toMatchObject({ refunded_amount: 400 });
    const found = await pay(
      "transactions",
      "list",
      "--external-identifier",
      "order-17",
      "--status",
      "capture_succeeded",
    );
    expect(found.map(({ id }: { id: string }) => id)).toEqual([paid.id]);
  });

  it("refund once for each idempotency key, however often the command runs", async () => {
    const { body } = await shop.pay({ intent: "capture" });
    const refund = () => pay("refunds", "create", body.id, "--amount", "300", "--idempotency-key", `refund-${body.id}`);
    const first = await refund();
    expect(await refund()).toEqual(first);
    expect(await pay("transactions", "get", body.id)).toMatchObject({ refunded_amount: 300 });
  });

  it("void and sync", async () => {
    const { body } = await shop.pay();
    expect(await pay("transactions", "void", body.id)).toMatchObject({ status: "authorization_voided" });
    expect(await pay("transactions", "sync", body.id)).toMatchObject({ status: "authorization_voided" });
  });

  it("take a whole payment from a file, in the names of the REST API", async () => {
    const file = join(directory, "payment.json");
    const token = await shop.card();
    const payment = { amount: 1, currency: "USD", connection_id: shop.connectionId, token };
    writeFileSync(file, JSON.stringify(payment));
    expect(await pay("transactions", "create", "--from", file)).toMatchObject({ amount: 1, payment_method: { token } });
  });

  it.each([
    [["transactions", "list", "--status", "paid"], "--status must be one of processing"],
    [["transactions", "create", "--amount", "1.5"], "--amount must be a whole number"],
    [["refunds", "create"], "TRANSACTION is missing"],
    [["transactions", "create", "--intent", "charge"], "--intent must be one of: authorize, capture."],
  ])("%j is refused before the vault is asked", async (args, remedy) => {
    const { code, stdout, stderr } = await as(shop.backEnd.key, ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(remedy);
  });
});

describe("cloakroom connections", () => {
  it("create from a file, list and show without credentials, and delete after a question", async () => {
    const file = join(directory, "connection.json");
    const connection = {
      ...{ connection_formula_id: "simulator-card", method: "card", display_name: "From a file" },
      fields: [{ key: "merchant_id", value: "shop" }],
      ...{ accepted_countries: ["US"], accepted_currencies: ["USD"] },
    };
    writeFileSync(file, JSON.stringify(connection));
    const { stdout } = await manage("connections", "create", "--from", file, "--query", "id");
    const id = stdout.trim();
    expect((await manage("connections", "list", "--quiet")).stdout.split("\n")).toContain(id);
    expect((await manage("connections", "get", id, "--query", "display_name")).stdout).toBe("From a file\n");
    const asked = await manage("connections", "delete", id, "--no-input");
    expect({ code: asked.code, stderr: asked.stderr }).toEqual({ code: 2, stderr: expect.stringContaining("--yes") });
    expect((await manage("connections", "delete", id, "--yes")).code).toBe(0);
    expect((await manage("connections", "get", id)).code).toBe(5);
  });
});
