import type { CallerContext, CallerTransaction } from "../access/caller-transaction.js";
import { denied } from "../access/refusal.js";
import { takeTurn } from "../base/caller-turns.js";
import { Fault, invalid, withFurtherFaults } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { isLarge } from "../base/yield-to-event-loop.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { Budget } from "../expressions/budget.js";
import { SharedBudget } from "../expressions/shared-budget.js";
import { requireNoCodeName } from "./code-names.js";
import { createToken } from "./create.js";
import { readDraft } from "./draft.js";
import { loggedTokenType } from "./entity.js";
import { atPlace, maskAhead, movedTo, type PreparedToken, prepareToken } from "./prepare.js";
import { sealAhead, sealInTurns } from "./seal-ahead.js";
import type { TokenDraft } from "./token.js";
import type { BinTable } from "./types/bin-table.js";
import { showingTo, type TokenView } from "./view.js";

export const MAX_TOKENS = 100;

export interface TokenizePlan {
  readonly items: readonly PlannedToken[];
  /** Builds the response from the tokens in the order of `items`: ids for leaves, objects for token requests. */
  assemble(views: readonly TokenView[], show: (view: TokenView) => Json): Json;
}

/** The request field that holds the body. Over REST, the body is the whole request, and names begin below it. */
const BODY = "value";

export interface PlannedToken {
  /** Its place in the request: `value.people[0].card`, `value` for the body itself. */
  readonly place: string;
  readonly prepared: PreparedToken;
  /** Whether the response has its id in its place, and nothing else of it. */
  readonly isLeaf: boolean;
}

type Node =
  | { readonly kind: "kept"; readonly value: Json }
  | { readonly kind: "leaf"; readonly index: number }
  | { readonly kind: "token"; readonly index: number }
  | { readonly kind: "list"; readonly items: readonly Node[] }
  | { readonly kind: "object"; readonly members: readonly (readonly [string, Node])[] };

/**
 * Finds the values to tokenize in a body of any shape: every leaf except null, and every object with a type and data,
 * even an invalid type. Tokenized as plain leaves, a card with a misspelled type would keep its verification code
 * forever.
 * @throws {Fault} validation_failed for more than 100 tokens, or for any invalid item, named by its place.
 */
export function planTokenize(context: CallerContext, body: Json): TokenizePlan {
  const { caller } = context;
  const drafts: { readonly place: string; readonly draft: TokenDraft; readonly isLeaf: boolean }[] = [];
  const plan = (place: string, draft: TokenDraft, isLeaf: boolean): number => {
    if (drafts.length === MAX_TOKENS) throw invalid(BODY, `must hold at most ${MAX_TOKENS} values to tokenize`);
    return drafts.push({ place, draft, isLeaf }) - 1;
  };
  const visit = (value: Json, place: string): Node => {
    if (value === null) return { kind: "kept", value };
    if (Array.isArray(value))
      return { kind: "list", items: value.map((item, index) => visit(item, `${place}[${index}]`)) };
    if (!isJsonObject(value)) return { kind: "leaf", index: plan(place, leafDraft(value), true) };
    if (isTokenRequest(value)) return { kind: "token", index: plan(place, draftAt(place, value), false) };
    const members = Object.entries(value).map(([key, item]) => {
      if (caller.frame && item !== null) requireNoCodeName(key, `${place}.${key}`);
      return [key, visit(item, `${place}.${key}`)] as const;
    });
    return { kind: "object", members };
  };
  const draftAt = (place: string, value: JsonObject) => atPlace(place, () => readDraft(value));
  const root = visit(body, BODY);
  const budget = new Budget();
  const prepare = ({ place, draft }: (typeof drafts)[number]) =>
    atPlace(place, () => prepareToken(context, draft, budget));
  const items = drafts.map((item, index) => {
    try {
      return { place: item.place, prepared: prepare(item), isLeaf: item.isLeaf };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const others = drafts.slice(index + 1);
      throw withFurtherFaults(
        error,
        others.map((other) => () => prepare(other)),
      );
    }
  });
  return { items, assemble: (views, show) => assemble(root, views, show) };
}

/** The tokens of a plan, of a request of so many bytes, sealed before their transaction: see {@link sealInTurns}. */
export async function sealAllAhead(
  keys: TenantKeys,
  items: readonly PlannedToken[],
  bytes: number,
): Promise<PlannedToken[]> {
  const sealed: PlannedToken[] = [];
  for (const { place, prepared, isLeaf } of items) {
    const turn = takeTurn();
    if (turn) await turn;
    const ahead = isLarge(bytes) ? await sealInTurns(keys, prepared, bytes) : sealAhead(keys, prepared);
    sealed.push({ place, prepared: ahead, isLeaf });
  }
  return sealed;
}

/** The tokens of a plan with their own masks evaluated, within one budget: see {@link maskAhead}. */
export async function maskAllAhead(items: readonly PlannedToken[]): Promise<PlannedToken[]> {
  const budget = new SharedBudget();
  const shown: PlannedToken[] = [];
  for (const { place, prepared, isLeaf } of items) {
    shown.push({ place, prepared: await maskAhead(prepared, budget), isLeaf });
  }
  return shown;
}

export async function createTokens(
  tx: CallerTransaction,
  items: readonly PlannedToken[],
  bins: BinTable | undefined,
): Promise<readonly TokenView[]> {
  // Deny before anything is written: a later throw makes the shared transaction's other requests run again.
  for (const { prepared } of items) {
    const id = prepared.idChoice.kind === "ours" ? "" : prepared.idChoice.id;
    if (!tx.caller.grant.transformForAll("token:create", { id, containers: prepared.containers })) {
      throw denied(tx.caller, "token:create", loggedTokenType(prepared.type), id);
    }
  }
  const showing = showingTo(tx.caller, bins, new SharedBudget());
  return Promise.all(
    items.map(({ place, prepared, isLeaf }) =>
      createToken(tx, prepared, isLeaf ? "reference" : showing).catch((error: unknown) => {
        throw error instanceof Fault ? movedTo(place, error) : error;
      }),
    ),
  );
}

function isTokenRequest(value: JsonObject): boolean {
  return Object.hasOwn(value, "type") && Object.hasOwn(value, "data");
}

function leafDraft(data: Json): TokenDraft {
  return {
    id: undefined,
    type: "token",
    data,
    attributes: {},
    containers: [],
    deduplicate: undefined,
    expiresAt: undefined,
  };
}

function assemble(node: Node, views: readonly TokenView[], show: (view: TokenView) => Json): Json {
  switch (node.kind) {
    case "kept":
      return node.value;
    case "leaf":
    case "token": {
      const view = views[node.index];
      if (!view) throw new Error("a planned token was not made");
      return node.kind === "leaf" ? view.id : show(view);
    }
    case "list":
      return node.items.map((item) => assemble(item, views, show));
    case "object": {
      const object: JsonObject = {};
      for (const [key, member] of node.members) setOwnProperty(object, key, assemble(member, views, show));
      return object;
    }
  }
}
