import { type ContainerPath, readContainer } from "../../access/container.js";
import { type Fault, invalid } from "../../base/fault.js";
import { isUuid } from "../../base/ids.js";
import { readFingerprint } from "../../crypto/keyed-hash.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { TokenTest } from "../../store/tokens/token-search.js";
import { containerTerm, indexTerm, metadataTerm } from "../terms.js";
import { tokenTypes } from "../types/registry.js";
import { dateSpan, rangeSpan } from "./date-span.js";
import type { SearchExpression } from "./parse-query.js";
import type { SearchTerm } from "./query-reader.js";

/** A condition on a token: any combination of tests. An empty `all` holds, an empty `any` does not. */
export type SearchCondition =
  | { readonly kind: "test"; readonly test: TokenTest; readonly isNegated: boolean }
  | { readonly kind: "all" | "any"; readonly of: readonly SearchCondition[] };

/**
 * A query's condition in terms of the stored columns.
 * @throws {Fault} validation_failed naming `query`, the term and what it expects.
 */
export function readCondition(keys: TenantKeys, expression: SearchExpression): SearchCondition {
  if (expression.kind === "term") return termCondition(keys, expression.term, expression.isNegated);
  return { kind: expression.kind, of: expression.of.map((each) => readCondition(keys, each)) };
}

function termCondition(keys: TenantKeys, term: SearchTerm, isNegated: boolean): SearchCondition {
  if (term.field === "container") return containerCondition(keys, term, isNegated);
  return { kind: "test", test: testOf(keys, term), isNegated };
}

function testOf(keys: TenantKeys, term: SearchTerm): TokenTest {
  switch (term.field) {
    case "id":
      return { kind: "id", id: termText(term) };
    case "data":
      return { kind: "term", term: indexTerm(keys, termText(term)) };
    case "metadata":
      return { kind: "term", term: metadataTerm(keys, term.key ?? "", termText(term)) };
    case "type":
      return { kind: "type", type: typeOf(term) };
    case "fingerprint":
      return { kind: "fingerprint", fingerprint: fingerprintTest(term) };
    case "created_by":
    case "modified_by":
      return { kind: term.field, actor: actorTest(term) };
    case "created_at":
    case "modified_at":
      return { kind: term.field, span: timeSpan(term) };
    default:
      throw expects(`a field at character ${term.position} that can be searched: ${FIELDS}`);
  }
}

const FIELDS =
  "id, type, data, fingerprint, container, metadata.name, created_by, created_at, modified_by or modified_at";

function expects(text: string): Fault {
  return invalid("query", `must have ${text}`);
}

function termText(term: SearchTerm): string {
  const { field, value, position } = term;
  if (value.kind === "range") {
    throw expects(`one value for ${field} at character ${position}: only created_at and modified_at have ranges`);
  }
  if (!value.isQuoted && value.text.includes("*")) {
    throw expects(
      `no wildcard for ${field} at character ${position}: only a container may end in one. Quotes make * a character`,
    );
  }
  return value.text;
}

function typeOf(term: SearchTerm): string {
  const text = termText(term);
  const names = tokenTypes.map(({ name }) => name);
  if (!names.includes(text)) throw expects(`a type at character ${term.position}: ${names.join(", ")}`);
  return text;
}

function fingerprintTest(term: SearchTerm): Buffer {
  const fingerprint = readFingerprint(termText(term));
  if (!fingerprint) throw expects(`a fingerprint at character ${term.position}, as tokens show it`);
  return fingerprint;
}

function actorTest(term: SearchTerm) {
  const text = termText(term).toLowerCase();
  if (!isUuid(text)) throw expects(`the UUID of an application at character ${term.position}`);
  return text;
}

function timeSpan(term: SearchTerm) {
  const { value } = term;
  const span = value.kind === "range" ? rangeSpan(value.from, value.to) : dateSpan(value.text);
  if (!span) {
    throw expects(`an ISO 8601 date at character ${term.position}, or a range: [2021-01-01 TO 2021-12-31T23:59:59Z]`);
  }
  return span;
}

/** `/a/*` matches the container and everything below it; `/a/` matches the container alone. */
function containerCondition(keys: TenantKeys, term: SearchTerm, isNegated: boolean): SearchCondition {
  const { value } = term;
  if (value.kind === "range") throw expects(`a path for container at character ${term.position}`);
  const holdsBelow = value.text.endsWith("/*");
  const path = metadataPath(term, holdsBelow ? value.text.slice(0, -1) : value.text);
  const below = path === "/" ? undefined : containerTerm(keys, path);
  if (!holdsBelow) return { kind: "test", test: { kind: "container", container: path, below }, isNegated };
  if (below) return { kind: "test", test: { kind: "term", term: below }, isNegated };
  return { kind: isNegated ? "any" : "all", of: [] };
}

function metadataPath({ position }: SearchTerm, text: string): ContainerPath {
  const path = readContainer(text);
  if (!path)
    throw expects(`a container at character ${position}: a path such as /pci/high/, or /pci/* with what is below`);
  return path;
}
