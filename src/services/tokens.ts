import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type CreateTokenRequest, TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import type { Clock } from "../base/clock.js";
import { invalid } from "../base/fault.js";
import type { Keyring } from "../tenancy/keyring.js";
import { createToken } from "../tokens/create.js";
import { deleteToken } from "../tokens/delete.js";
import { prepareToken } from "../tokens/prepare.js";
import { readToken, showReadable } from "../tokens/read.js";
import type { TokenDraft } from "../tokens/token.js";
import { type TokenView, withoutCvc } from "../tokens/view.js";
import { type ServedMethod, serve } from "./call.js";
import { toJson, toValue } from "./value.js";

export interface TokenServiceParts {
  readonly keyring: Keyring;
  readonly clock: Clock;
}

export function tokenService({ keyring, clock }: TokenServiceParts): ServedMethod[] {
  const { method } = TokenService;
  return [
    serve(method.createToken, async (request, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      const prepared = prepareToken(call.caller, keys, draftOf(request), new Date(clock.now()));
      return call.transact(
        (tx) => createToken(tx, call.caller, keys, prepared),
        (view) => {
          call.reply.setHeader("location", `/tokens/${encodeURIComponent(view.id)}`);
          return showToken(view);
        },
        (view) => showToken(withoutCvc(view)),
      );
    }),
    serve(method.getToken, async ({ id }, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      return call.transact(
        (tx) => readToken(tx, call.caller, id),
        (found) => showToken(showReadable(call.caller, keys, found)),
      );
    }),
    serve(method.deleteToken, async ({ id }, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      return call.transact(
        (tx) => deleteToken(tx, call.caller, keys, id),
        () => ({}),
      );
    }),
  ];
}

function draftOf(request: CreateTokenRequest): TokenDraft {
  const { data, mask, metadata, searchIndexes, fingerprintExpression } = request;
  if (!data) throw invalid("data", "must be given");
  const definition = mask ? toJson(mask, "mask") : null;
  return {
    id: request.id,
    type: request.type,
    data: toJson(data, "data"),
    attributes: {
      ...(definition === null ? {} : { mask: definition }),
      ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
      ...(searchIndexes.length > 0 ? { searchIndexes } : {}),
      ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
    },
    containers: request.containers,
    deduplicate: request.deduplicateToken,
    expiresAt: request.expiresAt,
  };
}

export function showToken(view: TokenView) {
  const { card, bank, deduplicated } = view;
  return {
    id: view.id,
    tenantId: view.tenantId,
    type: view.type,
    ...(view.data === undefined ? {} : { data: toValue(view.data) }),
    ...(view.mask === undefined ? {} : { mask: toValue(view.mask) }),
    ...(view.fingerprint === undefined ? {} : { fingerprint: view.fingerprint }),
    ...(view.fingerprintExpression === undefined ? {} : { fingerprintExpression: view.fingerprintExpression }),
    containers: [...view.containers],
    metadata: { ...view.metadata },
    searchIndexes: [...(view.searchIndexes ?? [])],
    ...(view.expiresAt === undefined ? {} : { expiresAt: view.expiresAt }),
    ...(card ? { card: showCard(card) } : {}),
    ...(bank ? { bank: { routingNumber: bank.routing_number, accountNumberLast4: bank.account_number_last4 } } : {}),
    createdBy: view.createdBy,
    createdAt: timestampFromDate(view.createdAt),
    ...(view.modifiedBy ? { modifiedBy: view.modifiedBy } : {}),
    ...(view.modifiedAt ? { modifiedAt: timestampFromDate(view.modifiedAt) } : {}),
    ...(deduplicated === undefined ? {} : { extras: { deduplicated } }),
  };
}

function showCard(card: NonNullable<TokenView["card"]>) {
  return {
    bin: card.bin,
    last4: card.last4,
    ...(card.expiration_month === undefined ? {} : { expirationMonth: card.expiration_month }),
    ...(card.expiration_year === undefined ? {} : { expirationYear: card.expiration_year }),
    ...(card.brand === undefined ? {} : { brand: card.brand }),
    ...(card.funding === undefined ? {} : { funding: card.funding }),
  };
}
