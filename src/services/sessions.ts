import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type SessionSchema, SessionService } from "../../gen/cloakroom/v1/sessions_pb.js";
import { actorOf } from "../access/caller.js";
import { deniedWith } from "../access/refusal.js";
import { createSession, isKeyOf, prepareAuthorization, wrongApplicationType } from "../access/session.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { Fault } from "../base/fault.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Keyring } from "../tenancy/keyring.js";
import { ruleDraft } from "./access-rules.js";
import { type ServedMethod, serve } from "./call.js";
import { type ReplayRule, replayWhole } from "./replay.js";

/** Everything in a new session's response is shown once, so another key of the application is denied. */
const REPLAY_SESSION: ReplayRule<typeof SessionSchema> = {
  keep: (response) => response,
  async replay({ tx, caller, hasSameKey }, kept) {
    if (!hasSameKey) throw deniedWith(caller, madeByAnother(), "session", ANY_ENTITY_ID, "another key");
    writeLog(tx, logEntry(actorOf(caller), "session", ANY_ENTITY_ID, "replay"));
    return () => kept;
  },
};

function madeByAnother(): Fault {
  return new Fault(
    "conflict",
    "Another key of this application made a session with this idempotency key. Send another idempotency key.",
  );
}

export function sessionService(keyring: Keyring): ServedMethod[] {
  const { method } = SessionService;
  return [
    serve(
      method.createSession,
      async (_request, call) => {
        const keys = await keyring.of(call.caller.tenantId);
        return call.transact(
          async (tx) => {
            if (!isKeyOf("public", call.caller)) throw wrongApplicationType(call.caller, "public");
            return createSession(tx, call.caller, keys);
          },
          ({ key, nonce, expiresAt }) => ({
            sessionKey: key.reveal(),
            nonce: nonce.reveal(),
            expiresAt: timestampFromDate(expiresAt),
          }),
        );
      },
      { replay: REPLAY_SESSION },
    ),
    serve(
      method.authorizeSession,
      async ({ nonce, permissions, rules, expiresAt }, call) => {
        if (!isKeyOf("private", call.caller)) {
          // Runs in a transaction, which guards the rights that the denial is based on.
          return call.transact(
            async () => {
              throw wrongApplicationType(call.caller, "private");
            },
            () => ({}),
          );
        }
        const request = { nonce, permissions, rules: rules.map(ruleDraft), expiresAt };
        const keys = await keyring.of(call.caller.tenantId);
        return call.transact(prepareAuthorization(call.caller, keys, request), () => ({}));
      },
      { replay: replayWhole("session") },
    ),
  ];
}
