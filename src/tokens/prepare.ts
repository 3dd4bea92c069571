import type { Caller } from "../access/caller.js";
import { type ContainerPath, parseContainer, withAncestors } from "../access/container.js";
import { Fault, invalid, invalidFields } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { yieldToEventLoop } from "../base/yield-to-event-loop.js";
import { fingerprintOf } from "../crypto/keyed-hash.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { Budget } from "../expressions/budget.js";
import { isTemplate } from "../expressions/expression.js";
import { evaluateFingerprint } from "../expressions/fingerprint.js";
import { evaluateSearchIndexes } from "../expressions/search-indexes.js";
import { evaluateTokenId } from "../expressions/token-id.js";
import { normalizeData } from "./data-field.js";
import { isInactive } from "./inactive.js";
import { requireEvaluable } from "./mask.js";
import { parseExpiry } from "./parse-expiry.js";
import { splitCvc, textOf } from "./sealing.js";
import type { Expiry, Token, TokenAttributes, TokenDraft } from "./token.js";
import { tokenType } from "./types/registry.js";
import type { TokenType } from "./types/token-type.js";

/** The origin of a token's id. */
export type IdChoice =
  /** Our UUID, which cannot be taken. */
  | { readonly kind: "ours" }
  /** The caller's id. If it is taken, the response is 409. */
  | { readonly kind: "given"; readonly id: string }
  /** The result of an expression. If it is taken, try another one, and finally a UUID. */
  | { readonly kind: "alias"; readonly id: string; readonly next: () => string };

/** A validated and evaluated token that has no final id yet. */
export interface PreparedToken {
  readonly type: TokenType;
  readonly idChoice: IdChoice;
  readonly data: Sensitive<Json>;
  /** The text to seal, if it was written ahead: see {@link serializePayload}. */
  readonly text?: Sensitive<Buffer>;
  readonly attributes: TokenAttributes;
  readonly containers: readonly ContainerPath[];
  readonly fingerprint: Buffer | undefined;
  readonly isDeduplicated: boolean;
  readonly indexValues: readonly string[];
  readonly expiry: Expiry | undefined;
}

/**
 * Validates a draft and evaluates its expressions. Nothing is stored or sealed yet.
 * @throws {Fault} validation_failed, naming fields as the caller sent them.
 */
export function prepareToken(
  caller: Caller,
  keys: TenantKeys,
  draft: TokenDraft,
  now: Date,
  budget = new Budget(),
): PreparedToken {
  const type = tokenType(draft.type);
  if (draft.data === null) throw invalid("data", "must be given");
  const data = normalizeData(type, draft.data, draft.dataField);
  const { data: lasting } = splitCvc(type.name, data);
  const { attributes } = draft;
  if (attributes.mask !== undefined) requireEvaluable(attributes.mask, budget);
  const isDeduplicated = draft.deduplicate ?? caller.settings.deduplicate_tokens;
  const isFingerprinted =
    isDeduplicated || caller.settings.fingerprint_tokens || attributes.fingerprintExpression !== undefined;
  return {
    type,
    idChoice: chooseId(draft.id, lasting, budget),
    data: new Sensitive(data),
    attributes,
    containers: containersOf(type, draft.containers),
    fingerprint: isFingerprinted ? fingerprint(keys, type, lasting, attributes, isDeduplicated, budget) : undefined,
    isDeduplicated,
    indexValues: evaluateIndexes(type, lasting, attributes, budget),
    expiry: draft.expiresAt === undefined ? undefined : parseExpiry(draft.expiresAt, now),
  };
}

/** {@link prepareToken} in several turns of the event loop, for a token of a large request. */
export async function prepareLargeToken(
  caller: Caller,
  keys: TenantKeys,
  draft: TokenDraft,
  now: Date,
  bodyBytes: number,
): Promise<PreparedToken> {
  await yieldToEventLoop(bodyBytes);
  const prepared = prepareToken(caller, keys, draft, now);
  await yieldToEventLoop(bodyBytes);
  return serializePayload(prepared);
}

/**
 * Writes the text to seal before the token's transaction: shared with other requests, it cannot yield between two steps
 * on a large token. Yields afterwards.
 */
export async function serializePayload(prepared: PreparedToken): Promise<PreparedToken> {
  const { data } = splitCvc(prepared.type.name, prepared.data.reveal());
  const text = textOf(data);
  await yieldToEventLoop(text.length);
  return { ...prepared, text: new Sensitive(text) };
}

/**
 * The fingerprint of a token, by its own expression or its type's.
 * @param data without a verification code: see {@link splitCvc}.
 * @throws {Fault} validation_failed naming `fingerprint_expression`.
 */
export function fingerprint(
  keys: TenantKeys,
  type: TokenType,
  data: Json,
  { fingerprintExpression, metadata }: TokenAttributes,
  isDeduplicated: boolean,
  budget?: Budget,
): Buffer {
  const expression = fingerprintExpression ?? type.fingerprintExpression;
  const text = evaluateFingerprint(expression, { data, metadata: metadata ?? null }, budget);
  // All tokens with an empty fingerprint text would be treated as duplicates of the first, and their data lost.
  if (isDeduplicated && fingerprintExpression !== undefined && text === "") {
    throw invalid("fingerprint_expression", "must have a result where tokens are deduplicated: it came out empty");
  }
  return fingerprintOf(keys.fingerprint, type.name, text);
}

/**
 * The values by which a token can be found: from its own search indexes or its type's, without inactive ones.
 * @param data without a verification code: see {@link splitCvc}.
 */
export function evaluateIndexes(type: TokenType, data: Json, attributes: TokenAttributes, budget?: Budget): string[] {
  if (isInactive(attributes, "searchIndexes")) return [];
  return evaluateSearchIndexes(attributes.searchIndexes ?? type.searchIndexes, data, budget);
}

/**
 * The values by which a stored token is found. The values of its own expressions are stored, because evaluating a
 * random alias again gives a different one.
 */
export function indexValuesOf({ type, attributes, data, indexValues }: Token): readonly string[] {
  return indexValues ?? evaluateIndexes(type, splitCvc(type.name, data.reveal()).data, attributes);
}

/**
 * Maximum number of containers including their parents: a token has a search term for each. 20 containers of 200 levels
 * would be 4,000 rows, and 100 such tokens more than one transaction can write.
 */
const MAX_CONTAINERS_IN_ALL = 400;

/**
 * The distinct containers of a token. Default: its type's.
 * @throws {Fault} validation_failed naming `containers` or `containers[index]`.
 */
export function containersOf(type: TokenType, given: readonly string[]): ContainerPath[] {
  const paths = given.length > 0 ? given : type.containers;
  const containers = [...new Set(paths.map((path, index) => parseContainer(path, `containers[${index}]`)))];
  if (new Set(containers.flatMap(withAncestors)).size > MAX_CONTAINERS_IN_ALL) {
    throw invalid("containers", `must lie in at most ${MAX_CONTAINERS_IN_ALL} containers, those above them included`);
  }
  return containers;
}

function chooseId(id: string | undefined, data: Json, budget: Budget): IdChoice {
  if (id === undefined) return { kind: "ours" };
  if (!isTemplate(id)) return { kind: "given", id: evaluateTokenId(id, data, budget) };
  let tries = 1;
  const next = () => {
    tries += 1;
    return tries <= ALIAS_TRIES ? evaluateTokenId(id, data) : newUuid();
  };
  return { kind: "alias", id: evaluateTokenId(id, data, budget), next };
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
