import { FieldFaultList } from "../base/field-fault-list.js";
import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { isLongerThan } from "../base/text-length.js";
import { type FieldNames, unknownFieldFaults } from "../base/unknown-fields.js";
import type { TokenAttributes, TokenDraft } from "./token.js";

/** The same limits as CreateTokenRequest in the protos; token requests inside other JSON are checked here. */
const CONTAINERS: TextListBounds = { most: 20, longest: 400 };
const MAX_METADATA = 50;
const MAX_METADATA_KEY = 200;
const MAX_METADATA_VALUE = 1_000;
const MAX_EXPIRES_AT = 100;
const MAX_TEMPLATE = 50;

/** The same, for fields that templates have too. */
export const LONGEST = { expression: 4_096, fingerprintExpression: 400 } as const;
export const SEARCH_INDEXES: TextListBounds = { most: 20, longest: LONGEST.expression };

/** The same fields that CreateTokenRequest refuses. */
export const UNSERVED_TOKEN_FIELDS: FieldNames["unserved"] = new Map([
  ["privacy", "name the container of the token, and let access rules say what is shown of it"],
  ["encrypted", "send the data itself, over TLS"],
  ["encryption", "send the data itself; the vault encrypts it"],
  ["token_intent_id", "send the data itself"],
]);

export const TOKEN_FIELDS = [
  ...["id", "type", "data", "mask", "containers", "metadata", "search_indexes", "fingerprint_expression"],
  ...["deduplicate_token", "expires_at", "template"],
];

type Report = (field: string, text: string) => void;

/**
 * Reads a token request inside other JSON. Null means absent, except in data.
 * @throws {Fault} validation_failed, naming every invalid field.
 */
export function readDraft(request: JsonObject): TokenDraft {
  const faults = new FieldFaultList();
  const report: Report = (field, text) => faults.add(field, text);
  const draft = {
    id: readDraftText(request.id, "id", LONGEST.expression, report),
    type: readDraftText(request.type, "type", 50, report) ?? "",
    data: request.data ?? null,
    attributes: readAttributes(request, report),
    containers: readTexts(request.containers, "containers", CONTAINERS, report) ?? [],
    deduplicate: readFlag(request.deduplicate_token, "deduplicate_token", report),
    expiresAt: readDraftText(request.expires_at, "expires_at", MAX_EXPIRES_AT, report),
    template: readDraftText(request.template, "template", MAX_TEMPLATE, report),
  };
  if (draft.data === null) report("data", "must be given");
  const names = { known: TOKEN_FIELDS, unserved: UNSERVED_TOKEN_FIELDS };
  for (const [field, text] of unknownFieldFaults(request, names)) report(field, text);
  faults.throwIfAny();
  return draft;
}

function readAttributes(request: JsonObject, report: Report): TokenAttributes {
  const metadata = readMetadata(request.metadata, report);
  const searchIndexes = readTexts(request.search_indexes, "search_indexes", SEARCH_INDEXES, report);
  const expression = readDraftText(
    request.fingerprint_expression,
    "fingerprint_expression",
    LONGEST.fingerprintExpression,
    report,
  );
  return {
    ...(request.mask === undefined || request.mask === null ? {} : { mask: request.mask }),
    ...(metadata ? { metadata } : {}),
    ...(searchIndexes ? { searchIndexes } : {}),
    ...(expression === undefined ? {} : { fingerprintExpression: expression }),
  };
}

/** Checks metadata of any request: an object of strings. */
export function readMetadata(value: Json | undefined, report: Report): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) {
    report("metadata", "must be an object of strings");
    return undefined;
  }
  const entries = Object.entries(value);
  const metadata: Record<string, string> = {};
  if (entries.length > MAX_METADATA) {
    report("metadata", `must have at most ${MAX_METADATA} entries`);
    return metadata;
  }
  for (const [key, text] of entries) {
    const field = `metadata.${key}`;
    if (key.length === 0 || isLongerThan(key, MAX_METADATA_KEY))
      report(field, `must have a name of 1 to ${MAX_METADATA_KEY} characters`);
    else if (typeof text !== "string") report(field, "must be a string");
    else if (isLongerThan(text, MAX_METADATA_VALUE))
      report(field, `must have at most ${MAX_METADATA_VALUE} characters`);
    else if (`${key}${text}`.includes("\0")) report(field, "must be a string without NUL characters");
    else setOwnProperty(metadata, key, text);
  }
  return metadata;
}

export function readDraftText(
  value: Json | undefined,
  field: string,
  longest: number,
  report: Report,
): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") report(field, "must be a string");
  else if (isLongerThan(value, longest)) report(field, `must have at most ${longest} characters`);
  else if (value.includes("\0")) report(field, "must be a string without NUL characters");
  else return value;
  return undefined;
}

/** Entries of a list, and characters of each. */
export interface TextListBounds {
  readonly most: number;
  readonly longest: number;
}

export function readTexts(
  value: Json | undefined,
  field: string,
  { most, longest }: TextListBounds,
  report: Report,
): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) {
    report(field, "must be a list");
    return undefined;
  }
  if (value.length > most) {
    report(field, `must have at most ${most} entries`);
    return undefined;
  }
  return value.flatMap((item, index) => {
    const text = item === null ? undefined : readDraftText(item, `${field}[${index}]`, longest, report);
    if (item === null || text === "") report(`${field}[${index}]`, "must be a string that is not empty");
    return text ?? [];
  });
}

export function readFlag(value: Json | undefined, field: string, report: Report): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "boolean") return value;
  report(field, "must be true or false");
  return undefined;
}
