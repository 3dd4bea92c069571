import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type AuthenticateThreeDSSessionRequest,
  type CreateThreeDSSessionRequest,
  ThreeDSService,
} from "../../gen/cloakroom/v1/threeds_pb.js";
import { invalid } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { ThreeDSDirectory } from "../payments/three-ds/directory.js";
import { THREE_DS_VERSION, type ThreeDSSession } from "../payments/three-ds/session.js";
import {
  authenticateSession,
  createThreeDSSession,
  getSession,
  type Purchase,
  type SessionDraft,
} from "../payments/three-ds/sessions.js";
import { type ServedMethod, serve } from "./call.js";
import { replayWhole } from "./replay.js";
import { storedUuid } from "./show.js";

export interface ThreeDSServiceParts {
  readonly directory: ThreeDSDirectory;
  /** The URL at which the cardholder of a session completes the challenge. */
  readonly challengeUrl: (keys: TenantKeys, id: Uuid) => string;
}

export function threeDSService({ directory, challengeUrl }: ThreeDSServiceParts): ServedMethod[] {
  const { method } = ThreeDSService;
  return [
    serve(
      method.createThreeDSSession,
      async (request, call) => {
        const draft: SessionDraft = {
          tokenId: sessionToken(request),
          type: request.type === "merchant" ? "merchant" : "customer",
          device: request.device === "app" ? "app" : "browser",
          deviceInfo: request.deviceInfo,
        };
        return call.transact(
          (tx) => createThreeDSSession(tx, draft),
          ({ id, type, cardBrand }) => ({ id, type, cardBrand, recommendedVersion: THREE_DS_VERSION }),
        );
      },
      { replay: replayWhole("three_ds_session") },
    ),
    serve(method.getThreeDSSession, async ({ id }, call) =>
      call.transact(
        (tx) => getSession(tx, storedUuid(id)),
        (session) => show(call.caller.tenantId, session, challengeUrl(call.keys, session.id)),
      ),
    ),
    serve(
      method.authenticateThreeDSSession,
      async (request, call) => {
        const purchase = readPurchase(request);
        return call.transact(
          (tx) => authenticateSession(tx, directory, storedUuid(request.id), purchase),
          (session) => showAuthentication(session, challengeUrl(call.keys, session.id)),
        );
      },
      { replay: replayWhole("three_ds_session") },
    ),
    serve(method.getThreeDSChallengeResult, async ({ id }, call) =>
      call.transact(
        (tx) => getSession(tx, storedUuid(id)),
        (session) => showAuthentication(session, challengeUrl(call.keys, session.id)),
      ),
    ),
  ];
}

function sessionToken({ tokenId, pan }: CreateThreeDSSessionRequest): string {
  const token = tokenId ?? pan;
  if (token === undefined || token === "") throw invalid("token_id", "must be given");
  return token;
}

function readPurchase({
  authenticationCategory,
  purchaseInfo,
}: AuthenticateThreeDSSessionRequest): Purchase | undefined {
  if (!purchaseInfo) {
    if (authenticationCategory === "payment") throw invalid("purchase_info", "must be given for a payment");
    return undefined;
  }
  const amount = Number(purchaseInfo.amount);
  if (!Number.isSafeInteger(amount)) throw invalid("purchase_info.amount", "must be an amount that can be paid");
  return { amount, currency: purchaseInfo.currency };
}

function show(tenantId: TenantId, session: ThreeDSSession, challengeUrl: string) {
  const { id, type, tokenId, cardBrand, device, deviceInfo, createdBy, modifiedBy, modifiedAt } = session;
  return {
    id,
    type,
    tenantId,
    tokenId,
    panTokenId: tokenId,
    cardBrand,
    device,
    deviceInfo,
    createdBy,
    modifiedBy,
    expirationDate: timestampFromDate(session.expiresAt),
    createdDate: timestampFromDate(session.createdAt),
    modifiedDate: modifiedAt === undefined ? undefined : timestampFromMs(modifiedAt),
    version: { recommendedVersion: THREE_DS_VERSION, availableVersion: [THREE_DS_VERSION] },
    ...(session.authentication ? { authentication: showAuthentication(session, challengeUrl) } : {}),
  };
}

function showAuthentication({ tokenId, authentication }: ThreeDSSession, challengeUrl: string) {
  if (!authentication) return { tokenId, panTokenId: tokenId };
  const { status, statusCode, statusReason, challengeType, challengeMandated, wasChallenged } = authentication;
  const isOpen = status === "challenge";
  return {
    tokenId,
    panTokenId: tokenId,
    threedsVersion: THREE_DS_VERSION,
    acsTransactionId: authentication.acsTransactionId,
    dsTransactionId: authentication.dsTransactionId,
    authenticationValue: authentication.authenticationValue,
    eci: authentication.eci,
    authenticationStatus: status,
    authenticationStatusCode: statusCode,
    authenticationStatusReason: statusReason,
    ...(isOpen || wasChallenged ? { acsChallengeMandated: challengeMandated ? "Y" : "N" } : {}),
    authenticationChallengeType: challengeType,
    acsChallengeUrl: isOpen ? challengeUrl : undefined,
    challengeAttempts: wasChallenged ? String(authentication.challengeAttempts).padStart(2, "0") : undefined,
    challengeCancelReason: authentication.challengeCancelReason,
    liabilityShifted: status === "successful" || status === "attempted",
  };
}
