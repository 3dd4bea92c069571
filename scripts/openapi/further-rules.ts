import type { DescField } from "@bufbuild/protobuf";
import { PERMISSIONS, TOKEN_PERMISSIONS } from "../../src/access/permissions.js";
import type { JsonObject } from "../../src/base/json.js";
import { CODE_CHARACTERS } from "../../src/sandbox/limits.js";
import { GIVEN_ROLES } from "../../src/tenancy/role.js";
import { DEFAULT_SETTINGS, FIXED_SETTINGS } from "../../src/tenancy/settings.js";
import { tokenTypes } from "../../src/tokens/types/registry.js";

/*
 * What the server asks of requests beyond the rules in the protos, as far as JSON Schema can say it. The rules of the
 * protos leave these to the code because its errors say more, such as what a complete URL is. That one of two fields must
 * be given is said with `not`, which generators of clients pass over: of an object with `anyOf` or `oneOf` they make a
 * choice of types without the object's own fields.
 */

const URL_TEXT: JsonObject = { pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\s]+" };
/** The server counts UTF-16 units and JSON Schema characters, which are never more. */
const CODE: JsonObject = { maxLength: CODE_CHARACTERS };
const CONTAINER: JsonObject = { pattern: "^/([A-Za-z0-9_-]+/)*$" };
const CONTAINERS: JsonObject = { items: CONTAINER };
const ICON: JsonObject = { pattern: "^data:image/(png|jpe?g);base64, ?[A-Za-z0-9+/]+={0,2}$" };
const GIVEN_ROLE: JsonObject = { enum: [...GIVEN_ROLES] };
/** ISO 3166-1 alpha-2. */
const COUNTRY: JsonObject = { pattern: "^[A-Za-z]{2}$" };
/** ISO 4217. */
const CURRENCY: JsonObject = { pattern: "^[A-Za-z]{3}$" };
const PERMISSION_NAMES: JsonObject = { items: { enum: PERMISSIONS.map(({ permission }) => permission) } };
const TOKEN_PERMISSION: JsonObject = { enum: [...TOKEN_PERMISSIONS] };
const HEADER_NAME: JsonObject = { pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" };
const METHOD: JsonObject = { enum: ["card"] };
const NOT_NULL: JsonObject = { not: { type: "null" } };
const MERGED_TEXTS: JsonObject = { type: "object", additionalProperties: { type: ["string", "null"] } };
/** Texts, although each says yes or no: published clients send a map of texts. */
const SETTINGS: JsonObject = {
  propertyNames: { enum: [...Object.keys(DEFAULT_SETTINGS), ...FIXED_SETTINGS.keys()] },
  properties: {
    ...Object.fromEntries(
      Object.keys(DEFAULT_SETTINGS).map((name) => [name, { type: "string", enum: ["true", "false"] }]),
    ),
    ...Object.fromEntries([...FIXED_SETTINGS].map(([name, value]) => [name, { type: "string", enum: [value] }])),
  },
};
const TOKEN_TYPE: JsonObject = { enum: tokenTypes.map(({ name }) => name) };
/** A date or date-time of the years 1 to 9999. Which months have 30 days is left to the server. */
const ISO_TIME: JsonObject = {
  pattern:
    "^(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])" +
    "([Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,9})?)?([Zz]|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?)?$",
};
/** ISO 8601, or month, day and year as .NET writes them. That the time is to come is left to the server. */
const EXPIRY: JsonObject = {
  anyOf: [
    ISO_TIME,
    {
      pattern:
        "^(0?[1-9]|1[0-2])/(0?[1-9]|[12][0-9]|3[01])/[0-9]{4}" +
        "( +(([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?|(0?[1-9]|1[0-2]):[0-5][0-9](:[0-5][0-9])? *[AaPp][Mm])" +
        "( *(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9]))?)?$",
    },
  ],
};

/** Keywords beside those of a field's own rules, by message and field. */
export const FURTHER_RULES: ReadonlyMap<string, JsonObject> = new Map([
  ["AccessRule.container", CONTAINER],
  ["AccessRule.permissions", { items: TOKEN_PERMISSION }],
  ["AuthorizeSessionRequest.expires_at", ISO_TIME],
  ["AuthorizeSessionRequest.permissions", PERMISSION_NAMES],
  ["CreateApplicationRequest.permissions", PERMISSION_NAMES],
  ["CreateConnectionRequest.accepted_countries", { items: COUNTRY }],
  ["CreateConnectionRequest.accepted_currencies", { items: CURRENCY }],
  ["CreateConnectionRequest.method", METHOD],
  ["CreateInvitationRequest.containers", CONTAINERS],
  ["CreateInvitationRequest.email", { format: "email" }],
  ["CreateInvitationRequest.role", GIVEN_ROLE],
  ["CreateProxyRequest.destination_url", URL_TEXT],
  ["CreateReactorFormulaRequest.code", CODE],
  ["CreateReactorFormulaRequest.icon", ICON],
  ["CreateReactorRequest.code", CODE],
  ["CreateTokenRequest.containers", CONTAINERS],
  ["CreateTokenRequest.data", NOT_NULL],
  ["CreateTokenRequest.expires_at", EXPIRY],
  ["CreateTokenRequest.type", TOKEN_TYPE],
  ["CreateTransactionRequest.country", COUNTRY],
  ["CreateTransactionRequest.currency", CURRENCY],
  ["ExplainAccessRequest.containers", CONTAINERS],
  ["ExplainAccessRequest.permission", TOKEN_PERMISSION],
  ["ExportTokenPageRequest.container", CONTAINER],
  ["ExportTokenPageRequest.type", TOKEN_TYPE],
  ["HttpHeader.name", HEADER_NAME],
  ["ListLogsRequest.end_date", ISO_TIME],
  ["ListLogsRequest.start_date", ISO_TIME],
  ["ListTokensByCursorRequest.container", CONTAINER],
  ["ListTokensByCursorRequest.type", TOKEN_TYPE],
  ["ListTokensRequest.type", { items: TOKEN_TYPE }],
  ["ProxyTransform.code", CODE],
  ["ProxyTransform.matcher", { enum: ["regex", "chase_stratus_pan"] }],
  ["ReactRequest.callback_url", { pattern: "^[Hh][Tt][Tt][Pp][Ss]://[^/?#\\s]+" }],
  ["ReplaceConnectionRequest.accepted_countries", { items: COUNTRY }],
  ["ReplaceConnectionRequest.accepted_currencies", { items: CURRENCY }],
  ["ReplaceConnectionRequest.method", METHOD],
  ["ReplaceProxyRequest.destination_url", URL_TEXT],
  ["ReplaceReactorFormulaRequest.code", CODE],
  ["ReplaceReactorFormulaRequest.icon", ICON],
  ["ReplaceReactorRequest.code", CODE],
  ["Runtime.async", { enum: [false] }],
  ["Runtime.dependencies", { maxProperties: 0 }],
  ["Runtime.image", { enum: ["node-bt"] }],
  ["Runtime.permissions", { maxItems: 0 }],
  ["Runtime.resolutions", { maxProperties: 0 }],
  ["Runtime.resources", { enum: ["standard"] }],
  ["Runtime.timeout", { minimum: 1, maximum: 30 }],
  ["Runtime.warm_concurrency", { minimum: 0, maximum: 1 }],
  ["TestProxyRequest.destination_url", URL_TEXT],
  ["TestReactorRequest.code", CODE],
  ["TestedRequest.path", { pattern: "^(/[!$-~]*)?$" }],
  ["TestedRequest.query", { pattern: "^[!$-~]*$" }],
  ["UpdateApplicationRequest.permissions", PERMISSION_NAMES],
  ["UpdateMemberRequest.containers", CONTAINERS],
  ["UpdateMemberRequest.role", GIVEN_ROLE],
  ["UpdateProxyRequest.configuration", MERGED_TEXTS],
  ["UpdateProxyRequest.destination_url", URL_TEXT],
  ["UpdateReactorRequest.configuration", MERGED_TEXTS],
  ["UpdateReactorRequest.code", CODE],
  ["UpdateTenantRequest.settings", SETTINGS],
  ["UpdateTokenRequest.expires_at", EXPIRY],
  ["UpdateTokenRequest.containers", { minItems: 1, ...CONTAINERS }],
  ["UpdateTokenRequest.metadata", MERGED_TEXTS],
]);

const EMPTY: JsonObject = { enum: [null, "", []] };

/** Each of these fields is absent or empty. */
function lacks(...names: readonly string[]): JsonObject {
  return { properties: Object.fromEntries(names.map((name) => [name, EMPTY])) };
}

function both(one: string, other: string): JsonObject {
  return { required: [one, other], properties: { [one]: { not: EMPTY }, [other]: { not: EMPTY } } };
}

/** The field is present, with one of these values. */
function isOneOf(name: string, ...values: readonly string[]): JsonObject {
  return { required: [name], properties: { [name]: { enum: [...values] } } };
}

function refuses(...cases: readonly JsonObject[]): JsonObject {
  return cases.length === 1 ? { not: cases[0] ?? {} } : { not: { anyOf: [...cases] } };
}

const OF_TYPE_CODE: JsonObject = { minProperties: 1, properties: { type: { enum: ["code", null] } } };

const CONTAINERS_OF_DEVELOPER: JsonObject = refuses({
  allOf: [{ not: lacks("containers") }, { not: isOneOf("role", "DEVELOPER") }],
});

/** Keywords of a whole message, which generators of clients pass over. */
export const MESSAGE_RULES: ReadonlyMap<string, JsonObject> = new Map([
  ["AccessRule", refuses(lacks("container", "conditions"), lacks("transform"))],
  [
    "AuthenticateThreeDSSessionRequest",
    refuses({ allOf: [isOneOf("authentication_category", "payment"), lacks("purchase_info")] }),
  ],
  ["AuthorizeSessionRequest", refuses(lacks("permissions", "rules"))],
  ["CreateApplicationRequest", refuses(lacks("permissions", "rules"))],
  ["CreateInvitationRequest", CONTAINERS_OF_DEVELOPER],
  ["CreateReactorRequest", refuses(lacks("code", "formula"), both("code", "formula"))],
  ["CreateThreeDSSessionRequest", refuses(lacks("token_id", "pan"))],
  ["ExplainAccessRequest", refuses(lacks("token_id", "containers"), both("token_id", "containers"))],
  ["HttpHeader", refuses(lacks("name"))],
  // An empty transform counts as absent. The type of any other is code unless it says so.
  [
    "ProxyTransform",
    refuses(
      { allOf: [OF_TYPE_CODE, lacks("code")] },
      { allOf: [OF_TYPE_CODE, { not: lacks("matcher", "expression", "replacement") }] },
      { allOf: [isOneOf("type", "mask"), { anyOf: [lacks("replacement"), lacks("matcher")] }] },
      { allOf: [isOneOf("type", "mask"), isOneOf("matcher", "regex"), lacks("expression")] },
      { allOf: [isOneOf("type", "tokenize", "append_json", "append_header"), lacks("options")] },
    ),
  ],
  ["ReplaceReactorRequest", refuses(both("code", "formula"))],
  ["UpdateApplicationRequest", refuses(lacks("permissions", "rules"))],
  ["UpdateMemberRequest", CONTAINERS_OF_DEVELOPER],
  ["UpdateReactorRequest", refuses(both("code", "formula"))],
]);

/** Fields that a patch may change and not clear. */
export const NEVER_CLEARED: ReadonlySet<string> = new Set([
  "UpdateProxyRequest.destination_url",
  "UpdateProxyRequest.name",
  "UpdateReactorRequest.name",
  "UpdateTokenRequest.containers",
]);

/** What a field of a request must meet besides the rules of its proto. */
export function furtherKeywordsOf(field: DescField): JsonObject {
  return FURTHER_RULES.get(nameOf(field)) ?? {};
}

export function mayBeCleared(field: DescField): boolean {
  return !NEVER_CLEARED.has(nameOf(field));
}

function nameOf(field: DescField): string {
  return `${field.parent.name}.${field.name}`;
}
