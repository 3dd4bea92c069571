import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { SessionService } from "../../gen/cloakroom/v1/sessions_pb.js";
import { createSession, isKeyOf, prepareAuthorization, refuseKind } from "../access/session.js";
import { ruleDraft } from "./access-rules.js";
import { type ServedMethod, serve } from "./call.js";

export function sessionService(): ServedMethod[] {
  const { method } = SessionService;
  return [
    serve(method.createSession, async (_request, call) => {
      return call.transact(
        (tx) =>
          isKeyOf("public", call.caller) ? createSession(tx, call.caller) : refuseKind(tx, call.caller, "public"),
        ({ key, nonce, expiresAt }) => ({
          sessionKey: key.reveal(),
          nonce: nonce.reveal(),
          expiresAt: timestampFromDate(expiresAt),
        }),
      );
    }),
    serve(method.authorizeSession, async ({ nonce, permissions, rules, expiresAt }, call) => {
      if (!isKeyOf("private", call.caller)) {
        return call.transact(
          (tx) => refuseKind(tx, call.caller, "private"),
          () => ({}),
        );
      }
      const request = { nonce, permissions, rules: rules.map(ruleDraft), expiresAt };
      return call.transact(prepareAuthorization(call.caller, request), () => ({}));
    }),
  ];
}
