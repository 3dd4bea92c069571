import type { Transform } from "../access/access-rule.js";
import type { Caller } from "../access/caller.js";
import type { ContainerPath } from "../access/container.js";
import { invalid } from "../base/fault.js";
import { FieldFaultList } from "../base/field-fault-list.js";
import type { TenantId } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { mergePatch } from "../base/merge-patch.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { Budget } from "../expressions/budget.js";
import { dormantAfter, isDormant, replacesValue } from "./dormant.js";
import { readMetadata } from "./draft.js";
import { parseExpiry } from "./expiry.js";
import { requireEvaluable } from "./mask.js";
import { containersOf, evaluateIndexes, fingerprint, indexValuesOf } from "./prepare.js";
import { splitCvc } from "./sealing.js";
import type { Expiry, Token, TokenAttributes } from "./token.js";
import type { TokenPatch } from "./token-patch.js";

/** What a patch makes of a token. */
export interface PatchedToken {
  readonly data: Sensitive<Json>;
  /** The verification code that the patch brings: a new one, null to delete, undefined to leave it alone. */
  readonly cvc: string | null | undefined;
  readonly attributes: TokenAttributes;
  readonly containers: readonly ContainerPath[];
  readonly fingerprint: Buffer | undefined;
  readonly isDeduplicated: boolean;
  readonly indexValues: readonly string[];
  readonly expiry: Expiry | undefined;
}

/** The caller of a PATCH, as far as the result depends on it. */
export interface PatchAuthor extends Pick<Caller, "settings" | "application"> {
  /** What the caller's rules grant for the token. The answer may show less. */
  readonly transform: Transform;
}

/**
 * Applies a patch to a token and checks the result as a new token would be.
 * @throws {Fault} validation_failed, naming fields as the caller sent them.
 */
export function applyPatch(
  author: PatchAuthor,
  keys: TenantKeys,
  token: Token,
  patch: TokenPatch,
  now: Date,
): PatchedToken {
  const { type } = token;
  const { settings } = author;
  const merged = patchedData(token, patch);
  const { data: lasting, cvc } = splitCvc(type.name, merged);
  const isTrusted = mayUseValue(author) || replacesValue(token.data.reveal(), patch);
  const attributes = patchedAttributes(token, patch, isTrusted);
  // A fingerprint tells whether the value is one that was guessed: none is made for whoever may not try.
  const asks = patch.deduplicate === true && !isTrusted && !token.fingerprint ? undefined : patch.deduplicate;
  const isDeduplicated =
    asks === undefined ? token.isDeduplicated || settings.deduplicate_tokens : (asks ?? settings.deduplicate_tokens);
  const isFingerprinted =
    !isDormant(attributes, "fingerprintExpression") &&
    (isDeduplicated || settings.fingerprint_tokens || attributes.fingerprintExpression !== undefined);
  return {
    data: new Sensitive(merged),
    cvc: namesCvc(token, patch) ? (cvc ?? null) : undefined,
    attributes,
    containers: patchedContainers(token, patch),
    fingerprint: isFingerprinted ? fingerprint(keys, type, lasting, attributes, isDeduplicated) : undefined,
    isDeduplicated: isDeduplicated && isFingerprinted,
    indexValues:
      patch.data === undefined && patch.searchIndexes === undefined
        ? indexValuesOf(token)
        : evaluateIndexes(type, lasting, attributes),
    expiry: patchedExpiry(token, patch, now),
  };
}

/**
 * Whether expressions of an author's own may act on a value that it did not send: for a back end's key they do, as the
 * specification says of masks that are patched. The key of a page is anybody's, and a rule that says `redact` means it.
 */
function mayUseValue({ application, transform }: PatchAuthor): boolean {
  return transform === "reveal" || (transform === "mask" && application.type !== "public");
}

/**
 * Cleared, the containers would become those of the type: the token would move to where other rules hold, and whoever did
 * not mean that would not notice.
 * @throws {Fault} validation_failed naming `containers`.
 */
export function patchedContainers({ type, containers }: Token, patch: TokenPatch): readonly ContainerPath[] {
  if (patch.containers === undefined) return containers;
  if (patch.containers === null || patch.containers.length === 0) {
    throw invalid("containers", "must name at least one container: every token is in one");
  }
  return containersOf(type, patch.containers);
}

/** @throws {Fault} validation_failed naming what cannot change, where it is sent with another value. */
export function requireFixed(tenantId: TenantId, { type }: Token, { fixed }: TokenPatch): void {
  const isChanged = (sent: string | null | undefined, own: string) => sent !== undefined && sent !== own;
  if (isChanged(fixed?.type, type.name)) throw invalid("type", "cannot be changed");
  if (isChanged(fixed?.tenantId, tenantId)) throw invalid("tenant_id", "cannot be changed");
}

function patchedData({ type, data }: Token, patch: TokenPatch): Json {
  const current = data.reveal();
  if (patch.data === undefined) return current;
  if (patch.data === null) throw invalid("data", "must not be removed; delete the token instead");
  return type.normalize(mergePatch(current, patch.data));
}

/** Only a patch that names the code touches it: one that does not never extends its hour. */
function namesCvc({ type }: Token, patch: TokenPatch): boolean {
  return type.name === "card" && isJsonObject(patch.data) && "cvc" in patch.data;
}

function patchedAttributes(token: Token, patch: TokenPatch, isTrusted: boolean): TokenAttributes {
  const { type, attributes } = token;
  // Texts of a mask are replaced as a whole: what is stored was checked when it was written.
  if (patch.mask !== undefined) requireEvaluable(patch.mask, new Budget());
  const mask = patch.mask === undefined ? attributes.mask : mergedMask(attributes.mask ?? type.mask, patch.mask);
  const metadata =
    patch.metadata === undefined ? attributes.metadata : mergedMetadata(attributes.metadata, patch.metadata);
  const searchIndexes = replaced(attributes.searchIndexes, patch.searchIndexes);
  const expression = replaced(attributes.fingerprintExpression, patch.fingerprintExpression);
  const next = {
    ...(mask === undefined ? {} : { mask }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(searchIndexes === undefined ? {} : { searchIndexes }),
    ...(expression === undefined ? {} : { fingerprintExpression: expression }),
  };
  const dormant = dormantAfter(token, patch, next, isTrusted);
  return { ...next, ...(dormant.length > 0 ? { dormant } : {}) };
}

/** Null gives the type's own mask back. */
function mergedMask(current: Json, patch: Json): Json | undefined {
  return patch === null ? undefined : mergePatch(current, patch);
}

function mergedMetadata(current: TokenAttributes["metadata"], patch: Json): Record<string, string> | undefined {
  if (patch === null) return undefined;
  if (!isJsonObject(patch)) throw invalid("metadata", "must be an object of texts");
  const faults = new FieldFaultList();
  const metadata = readMetadata(mergePatch({ ...current }, patch), (field, text) => faults.add(field, text));
  faults.throwIfAny();
  return metadata && Object.keys(metadata).length > 0 ? metadata : undefined;
}

function patchedExpiry({ expiry }: Token, { expiresAt }: TokenPatch, now: Date): Expiry | undefined {
  if (expiresAt === undefined) return expiry;
  return expiresAt === null ? undefined : parseExpiry(expiresAt, now);
}

function replaced<T>(current: T | undefined, patch: T | null | undefined): T | undefined {
  return patch === undefined ? current : (patch ?? undefined);
}
