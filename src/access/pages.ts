import { invalid } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { parseAllowedOrigins } from "./allowed-origins.js";
import type { ApplicationType } from "./permissions.js";

/** Attributes of tokens that frames may ask for by name, because a page may not write expressions of its own. */
export interface TokenTemplate {
  readonly name: string;
  readonly mask?: Json;
  readonly searchIndexes?: readonly string[];
  readonly fingerprintExpression?: string;
  /** An expression. */
  readonly id?: string;
  readonly deduplicate?: boolean;
}

/** What pages may do with the keys of a public application. */
export interface Pages {
  /** The origins whose pages may show fields. */
  readonly allowedOrigins: readonly string[];
  readonly templates: readonly TokenTemplate[];
  /** Whether pages may use the keys also without a frame. Only for applications with allowed origins. */
  readonly allowPageRequests: boolean;
}

export const NO_PAGES: Pages = { allowedOrigins: [], templates: [], allowPageRequests: false };

/** As many as one response of 100 applications can show. */
const MAX_TEMPLATE_CHARACTERS = 20_000;

/**
 * `src/tokens/templates.ts` has checked each template's expressions.
 * @throws {Fault} validation_failed naming the field.
 */
export function parsePages(type: ApplicationType, { allowedOrigins, templates, allowPageRequests }: Pages): Pages {
  parseAllowedOrigins(type, allowedOrigins);
  if (templates.length > 0 && type !== "public") {
    throw invalid("templates", "must be empty: only public applications have hosted fields");
  }
  if (allowPageRequests && type !== "public") {
    throw invalid("allow_page_requests", "must be false: only public applications have pages");
  }
  if (templateCharacters(templates) > MAX_TEMPLATE_CHARACTERS) {
    throw invalid("templates", `must have at most ${MAX_TEMPLATE_CHARACTERS} characters in all, written as JSON`);
  }
  return { allowedOrigins, templates, allowPageRequests };
}

export function templateCharacters(templates: readonly TokenTemplate[]): number {
  return templates.length === 0 ? 0 : JSON.stringify(templates.map(writeTemplate)).length;
}

/** Whether the keys of an application work in frames only. */
export function needsFrame({ allowedOrigins, allowPageRequests }: Pages): boolean {
  return allowedOrigins.length > 0 && !allowPageRequests;
}

/** The fields to be sealed with the rights of an application. */
export function writePages({ allowedOrigins, templates, allowPageRequests }: Pages): JsonObject {
  return {
    ...(allowedOrigins.length > 0 ? { allowed_origins: [...allowedOrigins] } : {}),
    ...(templates.length > 0 ? { templates: templates.map(writeTemplate) } : {}),
    ...(allowPageRequests ? { allow_page_requests: true } : {}),
  };
}

export function readPages(stored: JsonObject): Pages {
  const { allowed_origins: origins, templates, allow_page_requests: allow } = stored;
  return {
    allowedOrigins: Array.isArray(origins) ? origins.map(String) : [],
    templates: Array.isArray(templates) ? templates.map(readTemplate) : [],
    allowPageRequests: allow === true,
  };
}

/** As the API writes it. */
export function writeTemplate(template: TokenTemplate): JsonObject {
  const { name, mask, searchIndexes, fingerprintExpression, id, deduplicate } = template;
  return {
    name,
    ...(mask === undefined ? {} : { mask }),
    ...(searchIndexes ? { search_indexes: [...searchIndexes] } : {}),
    ...(fingerprintExpression === undefined ? {} : { fingerprint_expression: fingerprintExpression }),
    ...(id === undefined ? {} : { id }),
    ...(deduplicate === undefined ? {} : { deduplicate_token: deduplicate }),
  };
}

function readTemplate(stored: Json): TokenTemplate {
  if (!isJsonObject(stored)) throw new Error("a template of an unknown form is stored");
  const { mask, search_indexes: indexes, fingerprint_expression: fingerprint, id, deduplicate_token: dedupe } = stored;
  return {
    name: String(stored.name),
    ...(mask === undefined ? {} : { mask }),
    ...(Array.isArray(indexes) ? { searchIndexes: indexes.map(String) } : {}),
    ...(typeof fingerprint === "string" ? { fingerprintExpression: fingerprint } : {}),
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof dedupe === "boolean" ? { deduplicate: dedupe } : {}),
  };
}
