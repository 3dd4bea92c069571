import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Fault } from "../../base/fault.js";
import type { Payment } from "../../payments/lifecycle/payment.js";
import type { InboundCallbacks } from "../../payments/reconciliation/inbound-callbacks.js";
import { decodeSignedPath } from "../../payments/signed-path.js";
import { type ApprovalView, CHOICES, type Choice, type SimulatedApprovals } from "../../payments/simulator/approve.js";
import type { SimulatedChallenges } from "../../payments/three-ds/challenges.js";
import type { ThreeDSSession } from "../../payments/three-ds/session.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { sendFault } from "../faults/send-fault.js";
import { type Observe, toFault } from "../observation/observation.js";
import { readTrace, requestTraceId } from "../observation/trace.js";
import { requestMemory } from "../request/open-memory.js";
import { queryIn } from "../request/query.js";
import { readAll, readForm } from "../rest/body.js";
import { escaped, type PageContent, type PageRoute, respondWithPage } from "./page.js";

const WEBHOOK_BYTES = 1024 * 1024;
const FORM_BYTES = 1024;

export const WEBHOOK_PATH = "/orchestration/webhooks";
export const RETURN_PATH = "/orchestration/approvals";
export const SIMULATOR_PATH = "/simulator/approvals";
export const CHALLENGE_PATH = "/3ds/challenges";

export interface PaymentHandlers {
  readonly incoming: InboundCallbacks;
  readonly approvals: SimulatedApprovals;
  readonly challenges: SimulatedChallenges;
}

const PORTAL = { config: { rateScope: "portal" } } as const;

/**
 * Routes for payment services and buyers: webhooks, the address after an approval elsewhere, and the page of the
 * simulated bank. Each address contains a proof that the vault made it; none takes a key.
 */
export function registerPaymentRoutes(
  app: FastifyInstance,
  { incoming, approvals, challenges }: PaymentHandlers,
  observe: Observe,
): void {
  registerChallenges(app, challenges, observe);
  const route = `${WEBHOOK_PATH}/:address`;
  app.post(route, async (request, reply) => {
    const observation = observe({ rpc: "PaymentWebhook", route, ...readTrace(request.raw) });
    try {
      const text = await takeWebhook(incoming, request);
      observation.end(200);
      return reply.code(200).type("text/plain; charset=utf-8").send(text);
    } catch (error) {
      const fault = toFault(error);
      observation.fail(FAULT_TABLE[fault.code].http, fault);
      return sendFault(reply, fault, requestTraceId(request.raw));
    }
  });
  servePage(app, { observe, rpc: "FinishApproval", route: `${RETURN_PATH}/:address` }, "get", async (request) => {
    const payment = await incoming.approval(signedAddress(request), new URLSearchParams(queryIn(request.raw.url)));
    if (!payment) throw new Fault("not_found", "There is no such payment.");
    return showEnd(payment);
  });
  const simulated = { observe, rpc: "SimulatorApproval", route: `${SIMULATOR_PATH}/:address` };
  servePage(app, simulated, "get", async (request) => {
    const view = await approvals.get(signedAddress(request));
    if (!view) throw new Fault("not_found", "There is no such payment.");
    return showApproval(view);
  });
  servePage(app, simulated, "post", async (request, reply) => {
    if (!(await approvals.get(signedAddress(request)))) throw new Fault("not_found", "There is no such payment.");
    proveAddress(request);
    const choice = await readChoice(request);
    const view = await approvals.decide(signedAddress(request), choice);
    if (!view) throw new Fault("not_found", "There is no such payment.");
    reply.header("location", view.returnUrl);
    return { status: 303, title: "Thank you", body: "<p>You are taken back.</p>" };
  });
}

/** The page of the simulated issuer, for 3DS sessions. */
function registerChallenges(app: FastifyInstance, challenges: SimulatedChallenges, observe: Observe): void {
  const page = { observe, rpc: "ThreeDSChallenge", route: `${CHALLENGE_PATH}/:address` };
  servePage(app, page, "get", async (request) => showChallenge(await challenges.get(signedAddress(request))));
  servePage(app, page, "post", async (request) => {
    if (!(await challenges.get(signedAddress(request)))) return showChallenge(undefined);
    proveAddress(request);
    const choice = await readChoice(request);
    return showChallenge(await challenges.decide(signedAddress(request), choice));
  });
}

function servePage(
  app: FastifyInstance,
  page: PageRoute,
  method: "get" | "post",
  show: (request: FastifyRequest, reply: FastifyReply) => Promise<PageContent>,
): void {
  app[method](page.route, PORTAL, (request, reply) =>
    respondWithPage(page, request, reply, () => show(request, reply)),
  );
}

function showChallenge(session: ThreeDSSession | undefined): PageContent {
  if (!session) throw new Fault("not_found", "There is no such challenge.");
  const isOpen = session.authentication?.status === "challenge";
  const body = isOpen
    ? `<p>Your bank asks whether it is you who wants to pay.</p>\n${choices()}`
    : "<p>Your bank has noted your response. You can close this page.</p>";
  return { status: 200, title: "Card simulator", body };
}

/** Records that the vault made the address of a request. Its form is read afterwards. */
function proveAddress(request: FastifyRequest): void {
  const presented = decodeSignedPath(signedAddress(request));
  if (!presented) return;
  const { tenantId, id } = presented;
  requestMemory(request.raw).prove({ kind: "address", tenantId, name: `link ${id}` });
}

async function readChoice(request: FastifyRequest): Promise<Choice> {
  const wanted = (await readForm(request.raw, FORM_BYTES)).get("choice");
  const choice = CHOICES.find((known) => known === wanted);
  if (!choice) throw new Fault("validation_failed", `The choice must be one of ${CHOICES.join(", ")}.`);
  return choice;
}

async function takeWebhook(incoming: InboundCallbacks, request: FastifyRequest): Promise<string> {
  const endpoint = await incoming.endpoint(signedAddress(request));
  if (!endpoint) throw new Fault("not_found", "There is no such webhook address.");
  const { payments, connection } = endpoint;
  requestMemory(request.raw).prove({ kind: "address", tenantId: payments.tenantId, name: `webhook ${connection.id}` });
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
  const end = await incoming.webhook(endpoint, { headers, body: await readAll(request.raw, WEBHOOK_BYTES) });
  switch (end.kind) {
    case "receipt":
      return end.text;
    case "unverified":
      throw new Fault("unauthenticated", "The signature does not fit, or the connection has no secret for it.");
    case "later":
      throw new Fault("unavailable", "The payment service could not be asked for the payment's status.", {
        retryAfter: 60,
      });
    case "malformed":
      throw new Fault("malformed_body", "The webhook could not be understood.");
  }
}

/** A payment approved after it had failed is released or returned: for the buyer it is not approved. */
function showEnd({ status, intentOutcome }: Payment): PageContent {
  const isOpen = status === "buyer_approval_pending" || status === "processing";
  const text = isOpen
    ? "Your bank has not decided yet."
    : intentOutcome === "failed"
      ? "The payment was not approved."
      : "The payment was approved.";
  return { status: 200, title: "Payment", body: `<p>${text} You can close this page.</p>` };
}

function showApproval({ amount, currency, isOpen }: ApprovalView): PageContent {
  if (!isOpen) return { status: 200, title: "Card simulator", body: "<p>There is nothing to decide now.</p>" };
  const text = `<p>A payment of ${amount} ${escaped(currency)} (smallest unit) waits for the cardholder.</p>`;
  return { status: 200, title: "Card simulator", body: `${text}\n${choices()}` };
}

function choices(): string {
  const buttons = CHOICES.map(
    (choice) =>
      `<button type="submit" name="choice" value="${choice}">${choice[0]?.toUpperCase()}${choice.slice(1)}</button>`,
  );
  return `<form method="post">\n${buttons.join("\n")}\n</form>`;
}

function signedAddress({ params }: FastifyRequest): string {
  const address = typeof params === "object" && params !== null && "address" in params ? params.address : undefined;
  return typeof address === "string" ? address : "";
}
