import type { Json, JsonObject } from "../../../base/json.js";
import { fromProviderAmount } from "../../contract/amount.js";
import type { ConnectorContext } from "../../contract/connector.js";
import type { FollowUpOutcome, PaymentState } from "../../contract/outcome.js";
import type { WebhookDelivery, WebhookEvent, WebhookReading } from "../../contract/webhook.js";
import { APPROVED } from "../approval-codes.js";
import { endedAuthorization, refusedOperation } from "../ending.js";
import { connectionField } from "../fields.js";
import { listAt, objectAt, parseObject, parseProviderTime, textAt, wholeAt } from "../read-json.js";
import { hmac, isSame } from "../signature.js";
import { ADYEN_AMOUNTS } from "./amounts.js";
import { errorOfDeclineText, errorOfModification } from "./decline-codes.js";

/** Adyen repeats a webhook until it receives this text. */
const RECEIPT = "[accepted]";

/** Each item has its own signature. One invalid signature rejects the whole delivery. */
export function readAdyenWebhook(context: ConnectorContext, { body }: WebhookDelivery): WebhookReading {
  const key = connectionField(context, "hmac_key");
  if (key === undefined || !/^(?:[0-9A-Fa-f]{2}){16,}$/.test(key)) return { kind: "unverified" };
  const items = listAt(parseObject(body.toString("utf8")), "notificationItems").map((item) =>
    objectAt(item, "NotificationRequestItem"),
  );
  const secret = Buffer.from(key, "hex");
  const signed: JsonObject[] = [];
  for (const item of items) {
    if (!item || !isSigned(secret, item)) return { kind: "unverified" };
    signed.push(item);
  }
  if (signed.length === 0) return { kind: "unverified" };
  // The same address may also receive webhooks of the company's other accounts.
  const ours = signed.filter((item) => item.merchantAccountCode === connectionField(context, "merchant_account"));
  return { kind: "verified", events: ours.flatMap(eventsOf), receipt: RECEIPT };
}

function isSigned(key: Buffer, item: JsonObject): boolean {
  const parts: (Json | undefined)[] = [
    item.pspReference,
    item.originalReference,
    item.merchantAccountCode,
    item.merchantReference,
    wholeAt(item, "amount", "value"),
    textAt(item, "amount", "currency"),
    item.eventCode,
    item.success,
  ];
  const given = textAt(item, "additionalData", "hmacSignature");
  if (given === undefined) return false;
  return isSame(hmac("sha256", key, parts.map((part) => part ?? "").join(":")), Buffer.from(given, "base64"));
}

function eventsOf(item: JsonObject): WebhookEvent[] {
  const eventCode = textAt(item, "eventCode") ?? "";
  const own = textAt(item, "pspReference");
  const original = textAt(item, "originalReference");
  const merchantReference = textAt(item, "merchantReference");
  const payment = { reconciliationId: merchantReference, providerId: original ?? own };
  switch (eventCode) {
    case "AUTHORISATION":
      return [{ payment, report: { kind: "payment", state: authorisation(item, own) } }];
    case "OFFER_CLOSED":
      return [
        { payment, report: { kind: "payment", state: endedAuthorization("incomplete_buyer_approval", stated(item)) } },
      ];
    case "EXPIRE":
      return original === undefined ? [] : [{ payment, report: { kind: "payment", state: lapsed(item, original) } }];
    case "CAPTURE":
    case "CAPTURE_FAILED":
      return [{ payment, report: captureReport(item, own, eventCode === "CAPTURE") }];
    case "CANCELLATION":
    case "TECHNICAL_CANCEL":
      return [
        {
          payment: { reconciliationId: merchantReference, providerId: original },
          report: { kind: "void", providerId: own, outcome: modification(item, true) },
        },
      ];
    case "REFUND":
    case "REFUND_FAILED":
    case "REFUNDED_REVERSED": {
      const outcome = modification(item, eventCode === "REFUND");
      // Adyen identifies the refund by our reference and the payment by its own id.
      return original === undefined
        ? []
        : [
            {
              payment: { providerId: original },
              report: { kind: "refund", reference: merchantReference, providerId: own, outcome },
            },
          ];
    }
    default:
      return [];
  }
}

function captureReport(
  item: JsonObject,
  providerId: string | undefined,
  tellsSuccess: boolean,
): WebhookEvent["report"] {
  return { kind: "capture", providerId, outcome: modification(item, tellsSuccess) };
}

function stated(item: JsonObject) {
  const reason = textAt(item, "reason");
  return { codes: { rawCode: textAt(item, "eventCode"), rawDescription: reason } };
}

function isSuccess(item: JsonObject): boolean {
  return item.success === "true" || item.success === true;
}

function authorisation(item: JsonObject, providerId: string | undefined): PaymentState {
  const reason = textAt(item, "reason");
  if (!isSuccess(item)) {
    return endedAuthorization(errorOfDeclineText(reason), {
      providerId,
      codes: { rawCode: reason, rawDescription: reason },
    });
  }
  const amount = amountOf(item);
  if (providerId === undefined || amount === undefined) return { kind: "processing", providerId, codes: {} };
  const schemeTransactionId = textAt(item, "additionalData", "networkTxReference");
  const codes = { authResponseCode: APPROVED, rawCode: "Authorised" };
  const known = { providerId, schemeTransactionId, amount, codes, ...at(item) };
  const isSale = textAt(item, "additionalData", "metadata.intent") === "capture";
  return isSale ? { kind: "captured", ...known } : { kind: "authorized", ...known };
}

function lapsed(item: JsonObject, providerId: string): PaymentState {
  return { kind: "voided", providerId, expired: true, ...stated(item), ...at(item) };
}

/** Whether a modification happened. For events that only report failures, `success` means that it failed. */
function modification(item: JsonObject, tellsSuccess: boolean): FollowUpOutcome {
  const { codes } = stated(item);
  if (!isSuccess(item) || !tellsSuccess) return refusedOperation(errorOfModification(textAt(item, "reason")), codes);
  const amount = amountOf(item);
  return {
    kind: "done",
    providerId: textAt(item, "pspReference"),
    codes,
    ...(amount === undefined ? {} : { amount }),
    ...at(item),
  };
}

function amountOf(item: JsonObject): number | undefined {
  const amount = wholeAt(item, "amount", "value");
  const currency = textAt(item, "amount", "currency");
  if (amount === undefined || currency === undefined) return undefined;
  return fromProviderAmount(ADYEN_AMOUNTS, { amount, currency });
}

function at(item: JsonObject): { readonly at?: Date } {
  const time = parseProviderTime(textAt(item, "eventDate"));
  return time === undefined ? {} : { at: time };
}
