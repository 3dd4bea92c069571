import type { JsonObject } from "../../../base/json.js";
import type { ConnectorContext } from "../../contract/connector.js";
import type { ProviderCodes } from "../../contract/outcome.js";
import type { ProviderCall } from "../../contract/provider-http.js";
import type { Unanswered } from "../ending.js";
import { callJson } from "../provider-json.js";
import { textAt } from "../read-json.js";
import { isOpenMessage } from "./decline-codes.js";

/** A response of the single endpoint, whose HTTP status is always 200. */
export type AuthorizeNetResponse =
  | { readonly kind: "ok"; readonly body: JsonObject }
  /** The request itself was refused. `code` is the message's code, or the HTTP status if there is no message. */
  | {
      readonly kind: "refused";
      readonly code: string | undefined;
      readonly codes: ProviderCodes;
      readonly status: number;
    }
  | Unanswered;

export async function ask(context: ConnectorContext, call: ProviderCall): Promise<AuthorizeNetResponse> {
  const result = await callJson(context, call);
  if (result.kind !== "json") return result;
  const { status, body } = result;
  const code = textAt(body, "messages", "message", 0, "code");
  const codes = { rawCode: code ?? `http_${status}`, rawDescription: textAt(body, "messages", "message", 0, "text") };
  if (status >= 400) return { kind: "refused", code, codes, status };
  if (isOpenMessage(code)) return { kind: "unknown", codes };
  const isOk = textAt(body, "messages", "resultCode") === "Ok" || textAt(body, "transactionResponse", "responseCode");
  return isOk ? { kind: "ok", body } : { kind: "refused", code, codes, status };
}
