import type { Transform } from "../access/access-rule.js";
import type { Caller } from "../access/caller.js";
import { stricterTransform } from "../access/grant.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { Json, JsonObject } from "../base/json.js";
import { showFingerprint } from "../crypto/keyed-hash.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { SharedBudget } from "../expressions/shared-budget.js";
import { isInactive } from "./inactive.js";
import { evaluateMaskInTurns, maskData } from "./mask.js";
import { hasCvc, splitCvc } from "./sealing.js";
import type { Token } from "./token.js";
import type { BinTable } from "./types/bin-table.js";
import {
  type BankDetails,
  type CardDetails,
  detailsForPages,
  type TokenDetails,
  tokenDetails,
} from "./types/details.js";

/** A token in a response. Parts that the caller may not see, or that the token does not have, are absent. */
export interface TokenView {
  readonly id: string;
  readonly tenantId: TenantId;
  readonly type: string;
  readonly data?: Json | undefined;
  readonly mask?: Json | undefined;
  readonly fingerprint?: string | undefined;
  readonly fingerprintExpression?: string | undefined;
  readonly containers: readonly string[];
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly searchIndexes?: readonly string[] | undefined;
  readonly expiresAt?: string | undefined;
  readonly card?: CardDetails | undefined;
  readonly bank?: BankDetails | undefined;
  readonly createdBy?: Uuid | undefined;
  readonly createdAt?: Date | undefined;
  readonly modifiedBy?: Uuid | undefined;
  readonly modifiedAt?: Date | undefined;
  /** On create and tokenize: whether this is an older token with the same content. */
  readonly deduplicated?: boolean | undefined;
  /** The same view without the verification code. Absent if the view has no code. */
  readonly lasting?: (() => TokenView) | undefined;
}

export interface Showing {
  readonly budget?: SharedBudget | undefined;
  readonly bins?: BinTable | undefined;
  /** The token's own mask as it was evaluated before, if it was. */
  readonly masked?: MaskedData | undefined;
  /** The response goes to a frame: details follow from the digits that they contain, whatever the table has of others. */
  readonly isToFrame?: boolean;
  /** See {@link TokenView.deduplicated}. */
  readonly deduplicated?: boolean;
}

export function showingTo(
  { frame }: Pick<Caller, "frame">,
  bins: BinTable | undefined,
  budget?: SharedBudget,
): Showing {
  return { bins, isToFrame: frame !== undefined, ...(budget ? { budget } : {}) };
}

export interface MaskedData {
  readonly whole: Json;
  /** Without the verification code. */
  readonly lasting: Json;
}

/**
 * Evaluates a token's own mask, which may take its caller several turns. Undefined if it has none, or an inactive one:
 * the masks of types take one short step.
 */
export async function maskInTurns(
  { type, attributes, data }: Pick<Token, "type" | "attributes" | "data">,
  budget: SharedBudget | undefined,
): Promise<MaskedData | undefined> {
  const { mask } = attributes;
  if (mask === undefined || isInactive(attributes, "mask")) return undefined;
  const all = data.reveal();
  const { data: lasting, cvc } = splitCvc(type.name, all);
  const whole = await evaluateMaskInTurns(mask, all, budget);
  return { whole, lasting: cvc === undefined ? whole : await evaluateMaskInTurns(mask, lasting, budget) };
}

/** {@link viewToken} in as many turns of the caller as it needs. */
export async function viewInTurns(
  tenantId: TenantId,
  token: Token,
  transform: Transform,
  showing: Showing = {},
): Promise<TokenView> {
  const masked = transform === "mask" ? await maskInTurns(token, showing.budget) : undefined;
  return viewToken(tenantId, token, transform, { ...showing, masked });
}

/**
 * The transform of a token in the response of a create, PATCH or tokenize: masked even if the rule reveals,
 * redacted if the rule redacts.
 */
export function writeResponseTransform(granted: Transform): Transform {
  return stricterTransform(granted, "mask");
}

/**
 * Shows a token under a transform: the value, the evaluated mask (nothing if there is no mask), or no data. The field
 * `mask` of the view is the mask's definition; for a card without its own mask, it is the evaluated mask. An inactive
 * mask (inactive.ts) shows nothing of the value.
 */
export function viewToken(tenantId: TenantId, token: Token, transform: Transform, showing: Showing = {}): TokenView {
  const { type, attributes } = token;
  const data = token.data.reveal();
  const definition = attributes.mask ?? type.mask;
  const showsTypeMask = type.name === "card" && attributes.mask === undefined && transform !== "redact";
  const isEvaluated = definition !== null && (transform === "mask" || showsTypeMask) && !isInactive(attributes, "mask");
  const masked = isEvaluated
    ? showing.masked
      ? showing.masked.whole
      : maskData(type, attributes.mask, data, showing.budget)
    : undefined;
  const shown = transform === "reveal" ? data : transform === "mask" ? masked : undefined;
  const mask = showsTypeMask && masked !== undefined ? masked : definition;
  // The details contain first and last digits. The token's own mask may hide these, so it alone decides what is shown.
  const showsDetails =
    transform === "reveal" ||
    (transform === "mask" && attributes.mask === undefined && !isInactive(attributes, "mask"));
  const details: TokenDetails = showsDetails
    ? (showing.isToFrame ? detailsForPages : tokenDetails)(type, data, showing.bins)
    : {};
  return {
    id: token.id,
    tenantId,
    type: type.name,
    data: shown,
    mask: mask ?? undefined,
    fingerprint: token.fingerprint && showFingerprint(token.fingerprint),
    fingerprintExpression: attributes.fingerprintExpression ?? type.fingerprintExpression,
    containers: token.containers,
    metadata: attributes.metadata,
    searchIndexes: attributes.searchIndexes,
    expiresAt: token.expiry?.text,
    card: details.card,
    bank: details.bank,
    createdBy: token.createdBy,
    createdAt: token.createdAt,
    modifiedBy: token.modifiedBy,
    modifiedAt: token.modifiedAt,
    deduplicated: showing.deduplicated,
    lasting: hasCvc(type.name, data) ? () => viewLasting(tenantId, token, transform, showing) : undefined,
  };
}

function viewLasting(tenantId: TenantId, token: Token, transform: Transform, showing: Showing): TokenView {
  const { data } = splitCvc(token.type.name, token.data.reveal());
  return viewToken(tenantId, { ...token, data: new Sensitive(data) }, transform, lastingly(showing));
}

function lastingly(showing: Showing): Showing {
  const { masked } = showing;
  return masked ? { ...showing, masked: { ...masked, whole: masked.lasting } } : showing;
}

/** A token that a caller encounters without the right to read it: enough to show that it exists. */
export function referenceOnlyView(
  tenantId: TenantId,
  token: Pick<Token, "id" | "type" | "fingerprint" | "containers">,
  deduplicated?: boolean,
): TokenView {
  return {
    id: token.id,
    tenantId,
    type: token.type.name,
    fingerprint: token.fingerprint && showFingerprint(token.fingerprint),
    containers: token.containers,
    deduplicated,
  };
}

/** A view in REST's format, for responses that contain tokens inside other JSON. */
export function viewToJson(view: TokenView): JsonObject {
  return {
    id: view.id,
    tenant_id: view.tenantId,
    type: view.type,
    ...(view.data === undefined ? {} : { data: view.data }),
    ...(view.mask === undefined ? {} : { mask: view.mask }),
    ...(view.fingerprint === undefined ? {} : { fingerprint: view.fingerprint }),
    ...(view.fingerprintExpression === undefined ? {} : { fingerprint_expression: view.fingerprintExpression }),
    containers: [...view.containers],
    ...(view.metadata ? { metadata: { ...view.metadata } } : {}),
    ...(view.searchIndexes ? { search_indexes: [...view.searchIndexes] } : {}),
    ...(view.expiresAt === undefined ? {} : { expires_at: view.expiresAt }),
    ...(view.card ? { card: { ...view.card } } : {}),
    ...(view.bank ? { bank: { ...view.bank } } : {}),
    ...(view.createdBy ? { created_by: view.createdBy } : {}),
    ...(view.createdAt ? { created_at: view.createdAt.toISOString() } : {}),
    ...(view.modifiedBy ? { modified_by: view.modifiedBy } : {}),
    ...(view.modifiedAt ? { modified_at: view.modifiedAt.toISOString() } : {}),
    ...(view.deduplicated === undefined ? {} : { _extras: { deduplicated: view.deduplicated } }),
  };
}

/** The view without the card's verification code, which a mask may contain and which must not be kept for a day. */
export function withoutCvc(view: TokenView): TokenView {
  return view.lasting?.() ?? view;
}
