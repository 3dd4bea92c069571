import type { CallerContext } from "../access/caller-transaction.js";
import { type ContainerPath, parseContainer, withAncestors } from "../access/container.js";
import { Fault, invalid, invalidFields } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { isLarge, yieldToEventLoop } from "../base/yield-to-event-loop.js";
import { hashFingerprint } from "../crypto/keyed-hash.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { Budget } from "../expressions/budget.js";
import { isTemplate } from "../expressions/expression.js";
import { evaluateFingerprint } from "../expressions/fingerprint.js";
import { evaluateSearchIndexes, type IndexOptions } from "../expressions/search-indexes.js";
import type { SharedBudget } from "../expressions/shared-budget.js";
import { evaluateTokenId, requireTokenId } from "../expressions/token-id.js";
import { normalizeData } from "./data-field.js";
import { permittedDraft } from "./frame-draft.js";
import { isInactive } from "./inactive.js";
import { requireEvaluable } from "./mask.js";
import { parseExpiry } from "./parse-expiry.js";
import { type SealedToken, type SplitData, splitCvc } from "./sealing.js";
import type { Token, TokenAttributes, TokenDraft } from "./token.js";
import { tokenType } from "./types/registry.js";
import type { TokenType } from "./types/token-type.js";
import { unlessFault, usableAttributes } from "./usable-attributes.js";
import { type MaskedData, maskInTurns } from "./view.js";

export type IdChoice =
  /** Our UUID, which cannot be taken. */
  | { readonly kind: "ours" }
  /** The caller's id. If it is taken, the response is 409. */
  | { readonly kind: "given"; readonly id: string }
  /** The result of an expression. If it is taken, try another one, and finally a UUID. */
  | { readonly kind: "alias"; readonly id: string; readonly next: () => string };

export interface PreparedToken
  extends Pick<Token, "type" | "data" | "attributes" | "containers" | "fingerprint" | "isDeduplicated" | "expiry"> {
  readonly idChoice: IdChoice;
  /** What is stored of it, if it was sealed ahead (seal-ahead.ts): under this id, which may be found to be taken. */
  readonly sealed?: SealedToken;
  /** The data under the token's own mask, if it was evaluated ahead: see {@link prepareInTurns}. */
  readonly masked?: MaskedData | undefined;
  readonly indexValues: readonly string[];
}

/** Nothing is stored or sealed yet. @throws {Fault} validation_failed, naming fields as the caller sent them. */
export function prepareToken(
  { caller, keys, now }: CallerContext,
  given: TokenDraft,
  budget = new Budget(),
): PreparedToken {
  const draft = permittedDraft(caller, given);
  const type = tokenType(draft.type);
  if (draft.data === null) throw invalid("data", "must be given");
  const data = normalizeData(type, draft.data, draft.dataField);
  const parts = splitCvc(type.name, data);
  const { data: lasting } = parts;
  const { isLenient = false } = draft;
  const attributes = isLenient ? usableAttributes(draft.attributes, lasting, budget) : draft.attributes;
  if (attributes.mask !== undefined && !isLenient) requireEvaluable(attributes.mask, budget);
  const { fingerprintExpression } = attributes;
  const isWanted = draft.deduplicate ?? caller.settings.deduplicate_tokens;
  const isFingerprinted = isWanted || caller.settings.fingerprint_tokens || fingerprintExpression !== undefined;
  const orUndefined = isLenient ? unlessFault : <T>(run: () => T) => run();
  const found = isFingerprinted
    ? orUndefined(() => fingerprint(keys, { type, data: lasting, attributes, isDeduplicated: isWanted }, budget))
    : undefined;
  return {
    type,
    idChoice: chooseId(draft.id, parts, budget, isLenient),
    data: new Sensitive(data),
    attributes,
    containers: tokenContainers(type, draft.containers),
    fingerprint: found,
    // A template whose own expression has no result does not find duplicates by that of the type.
    isDeduplicated: isWanted && found !== undefined && fingerprintExpression === draft.attributes.fingerprintExpression,
    indexValues: orUndefined(() => evaluateIndexes(type, lasting, attributes, { budget })) ?? [],
    expiry: draft.expiresAt === undefined ? undefined : parseExpiry(draft.expiresAt, now),
  };
}

/** Whether a token takes more than one short step to prepare: see {@link prepareInTurns}. */
export function isLongWork({ attributes }: TokenDraft, bodyBytes: number): boolean {
  return isLarge(bodyBytes) || attributes.mask !== undefined;
}

/** {@link prepareToken} in as many turns of the caller as it needs, for a large request or a token with its own mask. */
export async function prepareInTurns(
  context: CallerContext,
  draft: TokenDraft,
  bodyBytes: number,
): Promise<PreparedToken> {
  await yieldToEventLoop(bodyBytes);
  const prepared = prepareToken(context, draft);
  await yieldToEventLoop(bodyBytes);
  return maskAhead(prepared);
}

/**
 * Evaluates a token's own mask before its transaction, where it would hold up all requests that share it.
 * @param budget of all masks of the response.
 */
export async function maskAhead(prepared: PreparedToken, budget?: SharedBudget): Promise<PreparedToken> {
  const masked = await maskInTurns(prepared, budget);
  return masked ? { ...prepared, masked } : prepared;
}

/** What a fingerprint is made of. */
export interface FingerprintedToken extends Pick<PreparedToken, "type" | "attributes" | "isDeduplicated"> {
  /** Without a verification code: see {@link splitCvc}. */
  readonly data: Json;
}

/**
 * The fingerprint of a token, by its own expression or its type's.
 * @throws {Fault} validation_failed naming `fingerprint_expression`.
 */
export function fingerprint(
  keys: TenantKeys,
  { type, data, attributes, isDeduplicated }: FingerprintedToken,
  budget?: Budget,
): Buffer {
  const { fingerprintExpression, metadata } = attributes;
  const expression = fingerprintExpression ?? type.fingerprintExpression;
  const text = evaluateFingerprint(expression, { data, metadata: metadata ?? null }, budget);
  // All tokens with an empty fingerprint text would be treated as duplicates of the first, and their data lost.
  if (isDeduplicated && fingerprintExpression !== undefined && text === "") {
    throw invalid("fingerprint_expression", "must have a result where tokens are deduplicated: it came out empty");
  }
  return hashFingerprint(keys.fingerprint, type.name, text);
}

/**
 * The values by which a token can be found: from its own search indexes or its type's, without inactive ones.
 * @param data without a verification code: see {@link splitCvc}.
 */
export function evaluateIndexes(
  type: TokenType,
  data: Json,
  attributes: TokenAttributes,
  { budget, isQuiet = false }: IndexOptions & { readonly budget?: Budget } = {},
): string[] {
  if (isInactive(attributes, "searchIndexes")) return [];
  return evaluateSearchIndexes(attributes.searchIndexes ?? type.searchIndexes, data, budget, { isQuiet });
}

/**
 * The values by which a stored token is found. The values of its own expressions are stored, because evaluating a
 * random alias again gives a different one.
 */
export function storedIndexValues({ type, attributes, data, indexValues }: Token): readonly string[] {
  return indexValues ?? evaluateIndexes(type, splitCvc(type.name, data.reveal()).data, attributes);
}

/**
 * Maximum number of containers including their parents: a token has a search term for each. 20 containers of 200 levels
 * would be 4,000 rows, and 100 such tokens more than one transaction can write.
 */
const MAX_CONTAINERS_IN_ALL = 400;

/** Default: its type's. @throws {Fault} validation_failed naming `containers` or `containers[index]`. */
export function tokenContainers(type: TokenType, given: readonly string[]): ContainerPath[] {
  const paths = given.length > 0 ? given : type.containers;
  const parsed = paths.map((path, index) => parseContainer(path, `containers[${index}]`));
  const containers = parsed.length === 1 ? parsed : [...new Set(parsed)];
  // A single path has at most 400 characters, and so at most 199 levels.
  if (containers.length > 1 && new Set(containers.flatMap(withAncestors)).size > MAX_CONTAINERS_IN_ALL) {
    throw invalid("containers", `must lie in at most ${MAX_CONTAINERS_IN_ALL} containers, those above them included`);
  }
  return containers;
}

function chooseId(id: string | undefined, { data, cvc }: SplitData, budget: Budget, isLenient: boolean): IdChoice {
  if (id === undefined) return { kind: "ours" };
  if (!isTemplate(id)) {
    requireTokenId(id, data, cvc);
    return { kind: "given", id };
  }
  const evaluate = (of?: Budget) => evaluateTokenId(id, data, of);
  const orUuid = (of?: Budget) => (isLenient ? (unlessFault(() => evaluate(of)) ?? newUuid()) : evaluate(of));
  let tries = 1;
  const next = () => {
    tries += 1;
    return tries <= ALIAS_TRIES ? orUuid() : newUuid();
  };
  return { kind: "alias", id: orUuid(budget), next };
}

/** If an alias is still taken after this many attempts, the token gets a UUID. */
const ALIAS_TRIES = 4;

/**
 * A fault of one item of a larger request, with fields named by their place in the whole: `people[0].card.data.number`.
 */
export function movedTo(place: string, fault: Fault): Fault {
  if (!fault.fields || Object.keys(fault.fields).length === 0 || place === "") return fault;
  const fields = Object.fromEntries(Object.entries(fault.fields).map(([field, texts]) => [`${place}.${field}`, texts]));
  return fault.code === "validation_failed" ? invalidFields(fields) : new Fault(fault.code, fault.message, { fields });
}

/** Runs a step for one item of a larger request; its faults name their place in the whole. */
export function atPlace<T>(place: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof Fault ? movedTo(place, error) : error;
  }
}
