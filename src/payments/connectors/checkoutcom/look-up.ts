import { isJsonObject, type JsonObject } from "../../../base/json.js";
import type {
  FollowUpOutcome,
  FoundRefund,
  FoundRefusal,
  LookUpOutcome,
  PaymentState,
  Unknown,
} from "../../contract/outcome.js";
import type { PaymentReference } from "../../contract/payment-request.js";
import { callJson } from "../provider-json.js";
import { listAt, objectAt, textAt } from "../read-json.js";
import { codesOfError } from "./error.js";
import { codeRefusal, readPaymentState } from "./payment-state.js";
import type { CheckoutcomCall } from "./requests.js";

/** Looks up the payment's state by its id, or by our reference if it has no id. */
export async function lookUpPayment(call: CheckoutcomCall, payment: PaymentReference): Promise<LookUpOutcome> {
  const { requests, context } = call;
  const providerId = payment.providerId ?? (await findPaymentId(call, payment.reconciliationId));
  if (typeof providerId !== "string") return providerId;
  const result = await callJson(context, requests.read(providerId));
  if (result.kind !== "json") return { kind: "unknown", codes: result.codes };
  if (result.status === 404) return { kind: "absent" };
  if (result.status >= 400) return { kind: "unknown", codes: codesOfError(result.body, result.status) };
  const state = readPaymentState(result.body, payment.intent);
  const isHeld = state.kind === "authorized" || state.kind === "capturing";
  const actions = isHeld || state.kind === "captured" ? await actionsOf(call, providerId) : undefined;
  if (actions === undefined) return { kind: "found", state };
  const refusals = actions.flatMap(refusalIn);
  const refunds = state.kind === "captured" ? { refunds: actions.flatMap(refundIn) } : {};
  return { kind: "found", state: afterActions(state, actions), ...refunds, refusals };
}

/** The id of the payment with our reference; the approved one if there are several. */
export async function findPaymentId(
  { requests, context }: CheckoutcomCall,
  reference: string,
): Promise<string | Unknown | { readonly kind: "absent" }> {
  const result = await callJson(context, requests.find(reference));
  if (result.kind !== "json") return { kind: "unknown", codes: result.codes };
  if (result.status >= 400) return { kind: "unknown", codes: codesOfError(result.body, result.status) };
  const found = listAt(result.body, "data").filter((each) => textAt(each, "reference") === reference);
  const id = textAt(found.find((each) => objectAt(each)?.approved === true) ?? found[0], "id");
  return id ?? { kind: "absent" };
}

/** All actions of a payment, newest first. Undefined if they cannot be read now. */
async function actionsOf(
  { requests, context }: CheckoutcomCall,
  providerId: string,
): Promise<readonly JsonObject[] | undefined> {
  const result = await callJson(context, requests.actions(providerId));
  if (result.kind !== "json" || result.status >= 400) return undefined;
  return listAt(result.body, "items").filter(isJsonObject);
}

/** A sale whose capture failed is authorized, and stays so. */
function afterActions(state: PaymentState, actions: readonly JsonObject[]): PaymentState {
  if (state.kind !== "capturing") return state;
  const captures = actions.filter((action) => textAt(action, "type") === "Capture");
  if (captures.length === 0 || captures.some((action) => actionOutcome(action).kind !== "refused")) return state;
  const { authorizedAmount, ...known } = state;
  return { ...known, kind: "authorized", amount: authorizedAmount };
}

const REFUSABLE: Readonly<Record<string, FoundRefusal["operation"]>> = { Capture: "capture", Void: "void" };

function refusalIn(action: JsonObject): FoundRefusal[] {
  const providerId = textAt(action, "id");
  const operation = REFUSABLE[textAt(action, "type") ?? ""];
  const outcome = actionOutcome(action);
  if (providerId === undefined || operation === undefined || outcome.kind !== "refused") return [];
  return [{ operation, providerId, outcome }];
}

function refundIn(action: JsonObject): FoundRefund[] {
  const providerId = textAt(action, "id");
  if (providerId === undefined || textAt(action, "type") !== "Refund") return [];
  return [{ providerId, reference: textAt(action, "reference"), outcome: actionOutcome(action) }];
}

/** The end of a capture, void or refund, from its action or its webhook. */
export function actionOutcome(action: JsonObject): FollowUpOutcome {
  const rawCode = textAt(action, "response_code");
  const codes = { rawCode, rawDescription: textAt(action, "response_summary") };
  if (rawCode === undefined) return { kind: "accepted", providerId: textAt(action, "id"), codes };
  if (!rawCode.startsWith("10")) return { kind: "refused", ...codeRefusal(rawCode), codes };
  return { kind: "done", providerId: textAt(action, "action_id") ?? textAt(action, "id"), codes };
}
