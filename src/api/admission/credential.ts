import { invalid } from "../../base/fault.js";
import type { RequestHead } from "../request/request-head.js";

/** What a request authenticates with: a key, if any, or the cookie of a person's sign-in. */
export type Credential =
  | { readonly kind: "key"; readonly text: string | undefined }
  | { readonly kind: "sign_in"; readonly text: string };

/**
 * The credential of a request. REST requests never have a cookie here.
 * @throws {Fault} validation_failed for a key together with a cookie: it would not be clear who acts.
 */
export function readCredential(head: Pick<RequestHead, "header" | "visit">): Credential {
  const key = head.header("bt-api-key");
  const cookie = head.visit?.cookie("sign_in");
  if (cookie === undefined) return { kind: "key", text: key };
  if (key !== undefined) throw invalid("BT-API-KEY", "must not be sent together with the cookie of a sign-in");
  return { kind: "sign_in", text: cookie };
}
