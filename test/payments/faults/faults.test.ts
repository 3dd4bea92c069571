// Computes: 25 s
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Uuid } from "../../../src/base/ids.js";
import { agents } from "../connectors/bench.js";
import { BENCHES } from "../connectors/benches.js";
import { SERVICE_FAULTS, type ServiceFault } from "../standins/provider-server.js";
import { expectAgreement, settle } from "./agreement.js";
import { Payer } from "./payer.js";
import { SERVICES, type Service, standingIn } from "./services.js";
import type { Lives, Till } from "./till.js";

let payer: Payer;
beforeAll(async () => {
  payer = await Payer.open();
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

/** Everything that may happen at one step. */
interface Trouble {
  readonly name: string;
  readonly faults: readonly ServiceFault[];
  readonly lives: Lives;
  /** Whether the service's webhooks are delivered before a look-up, or only after. */
  readonly webhooks: "first" | "last";
}

const trouble = (more: Partial<Trouble> & { readonly name: string }): Trouble => ({
  ...{ faults: [], lives: "on", webhooks: "last" },
  ...more,
});
const met = (...faults: readonly ServiceFault[]) => trouble({ name: faults.map(named).join(", then "), faults });
const lost: ServiceFault = { response: "reset", acted: true };
const failing: ServiceFault = { response: 500, acted: false };
const busy: ServiceFault = { response: 429, acted: false };

const TROUBLES: readonly Trouble[] = [
  ...SERVICE_FAULTS.map((fault) => met(fault)),
  met(lost, failing),
  met({ response: 500, acted: true }, { response: "garbage", acted: true }),
  met(lost, busy, busy, busy),
  met(busy, busy, busy),
  trouble({ name: "webhooks before the response", faults: [{ response: 500, acted: true }], webhooks: "first" }),
  trouble({ name: "killed before the call", lives: "until the request is written down" }),
  trouble({ name: "killed after the call", lives: "until the service has responded" }),
  trouble({ name: "killed after the call, told first", lives: "until the service has responded", webhooks: "first" }),
];

const STEPS = ["authorize", "sale", "capture", "void", "refund"] as const;
type Step = (typeof STEPS)[number];

/** Whether money may have moved although no response says so. */
const isUncertain = ({ faults, lives }: Trouble) => lives !== "on" || faults.some(({ acted }) => acted);

/**
 * What leaves money uncertain meets every step of every service. What does not meets every step once and every service
 * once, because they all share the code that sends a request again.
 */
const MATRIX = SERVICES.flatMap(([name, open], service) =>
  STEPS.flatMap((step, at) =>
    TROUBLES.filter((each, index) => isUncertain(each) || (service + index) % STEPS.length === at).map(
      (each) => [`${name}, ${step}: ${each.name}`, step, each, open] as const,
    ),
  ),
);

describe("money moves at most once, and our record agrees", () => {
  test.concurrent.each(MATRIX)("%s", async (_name, step, each, open) => {
    await using service = await open(payer.vault.database, payer.tenantId);
    const till = await payer.connect(service);
    const id = await take(till, service, step, each);
    const payment = await settle(till, id, each.webhooks);
    await expectAgreement(till, service, payment);
  });
});

/** Services with separate read requests. */
const ASKED = SERVICES.filter(([name]) => name !== "adyen-card" && name !== "authorizenet-card").flatMap(
  ([name, open]) =>
    (["sale", "capture"] as const).flatMap((step) =>
      SERVICE_FAULTS.map((fault) => [`${name}, ${step}: ${named(fault)}`, step, fault, open] as const),
    ),
);

describe("credentials that stop working", () => {
  test.each(BENCHES)("fail the connection of %s, and the payment that noticed it", async (_name, open) => {
    await using bench = await open();
    const till = await payer.connect({ ...standingIn(bench), fields: { ...bench.fields, ...bench.refusedFields } });
    const payment = await till.read(await till.pay("authorize"));
    expect(payment).toMatchObject({ status: "authorization_failed", errorCode: "invalid_service_credentials" });
    expect(await till.connectionStatus()).toBe("failed");
    expect(bench.ledger.movements).toEqual([]);
  });
});

/** Authorize.net's requests all look the same from outside. */
const TOLD_APART = BENCHES.filter(([name]) => name !== "authorizenet-card");

describe("while a request is sent again", () => {
  test.each(TOLD_APART)("to %s, no other process sends it", async (_name, open) => {
    await using bench = await open();
    const service = standingIn(bench);
    const till = await payer.connect(service);
    const { authorize } = bench.routes;
    bench.server.fail(authorize, { response: "reset", acted: false }, { response: "silence", acted: true });
    const id = await till.pay("authorize");
    const sent = () => bench.server.requests.filter(({ method, path }) => authorize.test(`${method} ${path}`)).length;
    const first = till.sync(id);
    await expect.poll(sent, { interval: 10 }).toBe(2);
    await expect(till.sync(id)).rejects.toMatchObject({ code: "conflict" });
    await first;
    await expectAgreement(till, service, await settle(till, id, "last"));
  });
});

describe("a lost response is found, whatever happens to the look-ups", () => {
  test.concurrent.each(ASKED)("%s", async (_name, step, fault, open) => {
    await using service = await open(payer.vault.database, payer.tenantId);
    const till = await payer.connect(service);
    const id = await take(till, service, step, met(lost));
    service.fail("look up", fault, fault, fault);
    const payment = await settle(till, id, "last");
    expect([payment.status, payment.errorCode]).toEqual(["capture_succeeded", undefined]);
    await expectAgreement(till, service, payment);
  });
});

/** Reaches the step without faults, and runs it with them. */
async function take(till: Till, service: Service, step: Step, { faults, lives, webhooks }: Trouble): Promise<Uuid> {
  if (step === "authorize" || step === "sale") {
    service.fail("authorize", ...faults);
    return till.pay(step === "sale" ? "capture" : "authorize", lives);
  }
  const id = await till.pay(step === "refund" ? "capture" : "authorize");
  await settle(till, id, webhooks);
  service.fail(step, ...faults);
  await till.follow(id, step, lives);
  return id;
}

function named({ response, acted }: ServiceFault): string {
  return `${response}${acted ? " after it acted" : ""}`;
}
