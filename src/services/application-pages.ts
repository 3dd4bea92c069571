import type { Value } from "@bufbuild/protobuf/wkt";
import type {
  CreateApplicationRequest,
  TokenTemplate as TemplateMessage,
  UpdateApplicationRequest,
} from "../../gen/cloakroom/v1/applications_pb.js";
import type { Pages, TokenTemplate } from "../access/pages.js";
import { invalid } from "../base/fault.js";
import { parseTemplates, readTemplates } from "../tokens/templates.js";
import { toJson, toValue } from "./value.js";

const MAX_ORIGINS = 50;
const MAX_ORIGIN_LENGTH = 300;

/** What pages may do with the keys of a new application. @throws {Fault} validation_failed */
export function readNewPages({ allowedOrigins, templates, allowPageRequests }: CreateApplicationRequest): Pages {
  return { allowedOrigins, templates: parseSentTemplates(templates), allowPageRequests: allowPageRequests ?? false };
}

/** @throws {Fault} validation_failed naming `templates[0].mask` and the like. */
export function parseSentTemplates(templates: readonly TemplateMessage[]): readonly TokenTemplate[] {
  return parseTemplates(templates.map((template, index) => templateOf(template, `templates[${index}].mask`)));
}

/** What a request changes of it. Null keeps what is stored, as an absent field does. @throws {Fault} validation_failed */
export function readChangedPages(request: UpdateApplicationRequest): Partial<Pages> {
  const { allowPageRequests } = request;
  const allowedOrigins = given(request.allowedOrigins, "allowed_origins", readOrigins);
  const templates = given(request.templates, "templates", readTemplates);
  return {
    ...(allowedOrigins ? { allowedOrigins } : {}),
    ...(templates ? { templates } : {}),
    ...(allowPageRequests === undefined ? {} : { allowPageRequests }),
  };
}

export function showPages({ allowedOrigins, templates, allowPageRequests }: Pages) {
  return {
    allowedOrigins: [...allowedOrigins],
    templates: templates.map(showTemplate),
    ...(allowPageRequests ? { allowPageRequests } : {}),
  };
}

function given<T>(
  value: Value | undefined,
  field: string,
  read: (json: ReturnType<typeof toJson>) => T,
): T | undefined {
  const json = value && toJson(value, field);
  return json === undefined || json === null ? undefined : read(json);
}

function readOrigins(origins: ReturnType<typeof toJson>): readonly string[] {
  if (!Array.isArray(origins) || origins.length > MAX_ORIGINS) {
    throw invalid("allowed_origins", `must be a list of at most ${MAX_ORIGINS} origins`);
  }
  return origins.map((origin, index) => {
    if (typeof origin === "string" && origin.length <= MAX_ORIGIN_LENGTH) return origin;
    throw invalid(`allowed_origins[${index}]`, `must be a string of at most ${MAX_ORIGIN_LENGTH} characters`);
  });
}

function templateOf(template: TemplateMessage, maskPlace: string): TokenTemplate {
  const { name, searchIndexes, fingerprintExpression, id, deduplicateToken } = template;
  const mask = template.mask && toJson(template.mask, maskPlace);
  return {
    name,
    ...(mask === undefined || mask === null ? {} : { mask }),
    ...(searchIndexes.length > 0 ? { searchIndexes } : {}),
    ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
    ...(id === undefined ? {} : { id }),
    ...(deduplicateToken === undefined ? {} : { deduplicate: deduplicateToken }),
  };
}

function showTemplate({ name, mask, searchIndexes = [], fingerprintExpression, id, deduplicate }: TokenTemplate) {
  return {
    name,
    ...(mask === undefined ? {} : { mask: toValue(mask) }),
    searchIndexes: [...searchIndexes],
    ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
    ...(id === undefined ? {} : { id }),
    ...(deduplicate === undefined ? {} : { deduplicateToken: deduplicate }),
  };
}
