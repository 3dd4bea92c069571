import type { DescService } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { PasskeyService } from "../../gen/cloakroom/v1/passkeys_pb.js";
import { callingPerson } from "../access/caller.js";
import { confirmPasskeyAs, listWaitingPasskeys } from "../people/confirm-passkey.js";
import { deletePasskey, listPasskeys, renamePasskey, resetMemberPasskeys } from "../people/own-passkeys.js";
import type { Passkey } from "../people/passkey.js";
import type { PasskeyParts } from "../people/passkey-parts.js";
import { beginPasskeyRegistration, finishPasskeyRegistration } from "../people/passkey-registration.js";
import { beginPasskeySignIn, finishPasskeySignIn } from "../people/passkey-sign-in.js";
import { beginPasskeyCheck, finishPasskeyCheck } from "../people/passkey-step-up.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { serveById } from "./serve-by-id.js";
import { storedUuid } from "./show.js";
import { showStarted } from "./sign-ins.js";

export interface PasskeyServiceParts extends PasskeyParts {
  /** Time without a request after which a sign-in ends, in milliseconds. */
  readonly idleMs: number;
  /** Every service, for the operations of a role. */
  readonly services: readonly DescService[];
}

export function passkeyService(parts: PasskeyServiceParts): ServedMethod[] {
  return [...proofs(parts), ...registration(parts), ...lists()];
}

/** Proofs by a passkey: while signing in, and later. */
function proofs(parts: PasskeyServiceParts): ServedMethod[] {
  const { method } = PasskeyService;
  return [
    serve(method.beginPasskeySignIn, (_request, { visit }) => beginPasskeySignIn(parts, visit)),
    serve(method.finishPasskeySignIn, async ({ challengeId, credential }, { visit, reply }) => {
      const started = await finishPasskeySignIn(parts, storedUuid(challengeId), credential, visit);
      return showStarted(parts, reply, started);
    }),
    serve(method.beginPasskeyCheck, (_request, { caller }) => beginPasskeyCheck(parts, caller)),
    serve(method.finishPasskeyCheck, async ({ challengeId, credential }, { caller }) => ({
      strongUntil: timestampFromDate(await finishPasskeyCheck(parts, caller, storedUuid(challengeId), credential)),
    })),
  ];
}

function registration(parts: PasskeyServiceParts): ServedMethod[] {
  const { method } = PasskeyService;
  return [
    serve(method.beginPasskeyRegistration, (_request, { caller }) => beginPasskeyRegistration(parts, caller)),
    serve(method.finishPasskeyRegistration, async ({ challengeId, credential: text, name }, { caller }) =>
      show(await finishPasskeyRegistration(parts, caller, storedUuid(challengeId), { text, name })),
    ),
  ];
}

function lists(): ServedMethod[] {
  const { method } = PasskeyService;
  return [
    serveById(method.confirmPasskey, confirmPasskeyAs, show),
    serve(method.listPasskeys, async ({ memberId, waiting }, call) => {
      if (waiting) {
        return call.transact(
          (tx) => listWaitingPasskeys(tx),
          (found) => ({ data: found.map(show) }),
        );
      }
      const of = memberId === undefined ? callingPerson(call.caller).memberId : storedUuid(memberId);
      return call.transact(
        (tx) => listPasskeys(tx, of),
        (found) => ({ data: found.map(show) }),
      );
    }),
    serve(method.renamePasskey, async ({ id, name }, call) =>
      call.transact((tx) => renamePasskey(tx, storedUuid(id), name), show),
    ),
    serveById(method.deletePasskey, deletePasskey, showNothing),
    serve(method.resetPasskeys, async ({ memberId }, call) =>
      call.transact((tx) => resetMemberPasskeys(tx, storedUuid(memberId)), showNothing),
    ),
  ];
}

function show({ id, memberId, name, credential, createdAt, lastUsedAt, countsFrom }: Passkey) {
  return {
    id,
    memberId,
    name,
    isSynced: credential.isSynced,
    createdAt: timestampFromDate(createdAt),
    ...(countsFrom ? { countsFrom: timestampFromDate(countsFrom) } : {}),
    ...(lastUsedAt ? { lastUsedAt: timestampFromDate(lastUsedAt) } : {}),
  };
}
