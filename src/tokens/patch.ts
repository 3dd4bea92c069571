import { isDeepStrictEqual } from "node:util";
import type { Transform } from "../access/access-rule.js";
import type { Caller } from "../access/caller.js";
import type { CallerContext } from "../access/caller-transaction.js";
import type { ContainerPath } from "../access/container.js";
import { type Grant, stricterTransform } from "../access/grant.js";
import { Fault, invalid } from "../base/fault.js";
import { FieldFaultList } from "../base/field-fault-list.js";
import type { TenantId } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { mergePatch } from "../base/merge-patch.js";
import { hashFingerprint } from "../crypto/keyed-hash.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { Budget } from "../expressions/budget.js";
import { isUnusable } from "../expressions/fingerprint.js";
import { holdsDigitsOfCard } from "../expressions/id-contents.js";
import { normalizeData } from "./data-field.js";
import { readMetadata } from "./draft.js";
import { inactiveAfter, isInactive, replacesValue } from "./inactive.js";
import { requireEvaluable } from "./mask.js";
import { parseExpiry } from "./parse-expiry.js";
import { evaluateIndexes, fingerprint, type PreparedToken, storedIndexValues, tokenContainers } from "./prepare.js";
import { splitCvc } from "./sealing.js";
import type { Expiry, Token, TokenAttributes } from "./token.js";
import type { TokenPatch } from "./token-patch.js";

export interface PatchedToken
  extends Pick<
    PreparedToken,
    "data" | "attributes" | "containers" | "fingerprint" | "isDeduplicated" | "indexValues" | "expiry"
  > {
  /** The patch's verification code: a new one, null to delete it, undefined to keep it. */
  readonly cvc: string | null | undefined;
}

/** The caller of a PATCH, as far as the result depends on it. */
export interface PatchAuthor extends Pick<CallerContext, "keys" | "now">, Pick<Caller, "settings" | "principal"> {
  /** The transform that the caller's rules grant for the token. The response may show less. */
  readonly transform: Transform;
}

/**
 * A caller's transform for changing a token; undefined if it may not. A move takes the token out of its containers and
 * puts it into others: all of them need the right, and the strictest transform applies.
 * @throws {Fault} validation_failed naming `containers`.
 */
export function patchTransform(grant: Grant, token: Token, patch: TokenPatch): Transform | undefined {
  const transform = grant.transformFor("token:update", token);
  if (!transform) return undefined;
  const containers = patchedContainers(token, patch);
  if (isDeepStrictEqual(token.containers, containers)) return transform;
  const touched = [...token.containers, ...containers];
  const everywhere = grant.transformForAll("token:update", { id: token.id, containers: touched });
  return everywhere && stricterTransform(transform, everywhere);
}

/** @throws {Fault} validation_failed, naming fields as the caller sent them. */
export function applyPatch(author: PatchAuthor, token: Token, patch: TokenPatch): PatchedToken {
  const { type } = token;
  const { settings, keys, now } = author;
  const merged = patchedData(token, patch);
  const { data: lasting, cvc } = splitCvc(type.name, merged);
  requireOtherThanId(token, patch);
  const isTrusted = mayUseValue(author) || replacesValue(token.data.reveal(), patch);
  const attributes = patchedAttributes(token, patch, isTrusted);
  // A fingerprint confirms a guessed value, so a caller who may not use the value gets none.
  const asks = patch.deduplicate === true && !isTrusted && !token.fingerprint ? undefined : patch.deduplicate;
  const isDeduplicated =
    asks === undefined ? token.isDeduplicated || settings.deduplicate_tokens : (asks ?? settings.deduplicate_tokens);
  const isFingerprinted =
    !isInactive(attributes, "fingerprintExpression") &&
    (isDeduplicated || settings.fingerprint_tokens || attributes.fingerprintExpression !== undefined);
  const evaluated = () => fingerprint(keys, { type, data: lasting, attributes, isDeduplicated });
  const mayFail = () => isTrusted || isUnusable(attributes.fingerprintExpression ?? type.fingerprintExpression);
  return {
    data: new Sensitive(merged),
    cvc: namesCvc(token, patch) ? (cvc ?? null) : undefined,
    attributes,
    containers: patchedContainers(token, patch),
    fingerprint: isFingerprinted ? fingerprintIn(keys, token, evaluated, mayFail) : undefined,
    isDeduplicated: isDeduplicated && isFingerprinted,
    indexValues:
      patch.data === undefined && patch.searchIndexes === undefined
        ? storedIndexValues(token)
        : evaluateIndexes(type, lasting, attributes, { isQuiet: !isTrusted }),
    expiry: patchedExpiry(token, patch, now),
  };
}

/**
 * Whether an author's expressions may use a value that the author did not send. A back end's key may (decision 0016). A
 * page's key is public, a person sees no value in the clear, and a rule with `redact` forbids it.
 */
function mayUseValue({ principal, transform }: PatchAuthor): boolean {
  if (principal.kind === "person") return false;
  return transform === "reveal" || (transform === "mask" && principal.type !== "public");
}

/**
 * An id that the caller chose may hold digits that were no card's then.
 * @throws {Fault} validation_failed naming the field with the data. It depends on what the patch sends, and on no other
 *   part of the value.
 */
function requireOtherThanId({ id }: Token, { data, dataField = "data" }: TokenPatch): void {
  if (data === undefined || data === null) return;
  if (holdsDigitsOfCard(id, data)) {
    throw invalid(
      dataField,
      "must not hold a card number of which the token's id shows more than BIN and last four digits",
    );
  }
}

/**
 * The fingerprint after a patch. Where it may not fail, because that tells an author of a value that it may not use,
 * the token gets a fingerprint that no other has.
 */
function fingerprintIn(keys: TenantKeys, { id, type }: Token, evaluated: () => Buffer, mayFail: () => boolean): Buffer {
  try {
    return evaluated();
  } catch (error) {
    if (!(error instanceof Fault) || mayFail()) throw error;
    return hashFingerprint(keys.fingerprint, `${type.name}/failed`, id);
  }
}

/**
 * Refuses to clear the containers. They would become the type's, which moves the token to where other rules apply, and
 * a caller who did not intend that would not notice.
 * @throws {Fault} validation_failed naming `containers`.
 */
export function patchedContainers({ type, containers }: Token, patch: TokenPatch): readonly ContainerPath[] {
  if (patch.containers === undefined) return containers;
  if (patch.containers === null || patch.containers.length === 0) {
    throw invalid("containers", "must name at least one container: every token is in one");
  }
  return tokenContainers(type, patch.containers);
}

/** @throws {Fault} validation_failed naming an immutable field that was sent with another value. */
export function requireImmutableUnchanged(tenantId: TenantId, { type }: Token, { fixed }: TokenPatch): void {
  const isChanged = (sent: string | null | undefined, own: string) => sent !== undefined && sent !== own;
  if (isChanged(fixed?.type, type.name)) throw invalid("type", "cannot be changed");
  if (isChanged(fixed?.tenantId, tenantId)) throw invalid("tenant_id", "cannot be changed");
}

function patchedData({ type, data }: Token, patch: TokenPatch): Json {
  const current = data.reveal();
  if (patch.data === undefined) return current;
  if (patch.data === null) throw invalid("data", "must not be removed; delete the token instead");
  return normalizeData(type, mergePatch(current, patch.data), patch.dataField);
}

/** Only a patch that names the code changes it: other patches never extend its hour. */
function namesCvc({ type }: Token, patch: TokenPatch): boolean {
  return type.name === "card" && isJsonObject(patch.data) && "cvc" in patch.data;
}

function patchedAttributes(token: Token, patch: TokenPatch, isTrusted: boolean): TokenAttributes {
  const { type, attributes } = token;
  // A mask's strings are replaced as a whole: the stored mask was validated when it was written.
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
  const inactive = inactiveAfter(token, patch, next, isTrusted);
  return { ...next, ...(inactive.length > 0 ? { inactive } : {}) };
}

/** Null restores the type's mask. */
function mergedMask(current: Json, patch: Json): Json | undefined {
  return patch === null ? undefined : mergePatch(current, patch);
}

function mergedMetadata(current: TokenAttributes["metadata"], patch: Json): Record<string, string> | undefined {
  if (patch === null) return undefined;
  if (!isJsonObject(patch)) throw invalid("metadata", "must be an object of strings");
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
