import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { SessionService } from "../../gen/cloakroom/v1/sessions_pb.js";
import type { Caller } from "../access/caller.js";
import { deleteSession, listSessions, type OpenSession } from "../access/open-sessions.js";
import { createSession, isKeyOfType, prepareAuthorization, wrongApplicationType } from "../access/session.js";
import { ruleDraft, showRule } from "./access-rules.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { replayWhole } from "./replay.js";
import { serveById } from "./serve-by-id.js";
import { pageRequest, showItems, storedUuid } from "./show.js";

export function sessionService(): ServedMethod[] {
  const { method } = SessionService;
  return [
    serve(method.createSession, async (_request, call) =>
      call.transact(
        async (tx) => {
          if (!isKeyOfType("public", call.caller)) throw wrongApplicationType(call.caller, "public");
          return createSession(tx);
        },
        ({ key, nonce, expiresAt }) => ({
          sessionKey: key.reveal(),
          nonce: nonce.reveal(),
          expiresAt: timestampFromDate(expiresAt),
        }),
      ),
    ),
    serve(
      method.authorizeSession,
      async ({ nonce, permissions, rules, expiresAt, frameRequired = false, frameAddress }, call) => {
        if (!isKeyOfType("private", call.caller)) {
          // Runs in a transaction, which guards the rights that the denial is based on.
          return call.transact(async () => {
            throw wrongApplicationType(call.caller, "private");
          }, showNothing);
        }
        const request = { nonce, permissions, rules: rules.map(ruleDraft), expiresAt, frameRequired, frameAddress };
        return call.transact(prepareAuthorization(call.caller, request), showNothing);
      },
      { replay: replayWhole("session") },
    ),
    serve(method.listSessions, async (request, call) => {
      const page = pageRequest(request);
      const listing = { ...page, applicationIds: request.applicationId.map(storedUuid) };
      return call.list((tx) => listSessions(tx, listing), showItems(page, show));
    }),
    serveById(method.deleteSession, deleteSession, showNothing),
  ];
}

function show(session: OpenSession, { tenantId }: Caller) {
  const { id, applicationId, authorizedBy, isInFrame, transform, permissions, rules, createdAt, expiresAt } = session;
  return {
    id,
    tenantId,
    applicationId,
    ...(authorizedBy === undefined ? {} : { authorizedBy }),
    inFrame: isInFrame,
    ...(transform === undefined ? {} : { transform }),
    permissions: [...permissions],
    rules: rules.map(showRule),
    createdAt: timestampFromDate(createdAt),
    expiresAt: timestampFromDate(expiresAt),
  };
}
