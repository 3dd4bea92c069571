import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { type TokenTemplate, TokenTemplateSchema } from "#client/proto/cloakroom/v1/applications_pb.js";

/** An example that shows all fields. */
export const EXAMPLE_TEMPLATES = JSON.stringify([
  { name: "receipt", mask: { number: "{{ data.number | reveal_last: 4 }}" }, search_indexes: ["{{ data.number }}"] },
]);

/** Templates as a JSON list in the names of the REST API, which it takes as it is; empty for none. */
export function textOfTemplates(templates: readonly TokenTemplate[]): string {
  if (templates.length === 0) return "";
  const list = templates.map((template) => toJson(TokenTemplateSchema, template, { useProtoFieldName: true }));
  return JSON.stringify(list, undefined, 2);
}

/** The templates of such a text; undefined for another text. */
export function templatesOfText(text: string): TokenTemplate[] | undefined {
  const list = parseList(text);
  try {
    return list?.map((item) => fromJson(TokenTemplateSchema, item));
  } catch {
    return undefined;
  }
}

/** The list for a change, which the vault checks. An unreadable text is sent as it is: the vault names the fault. */
export function valueOfTemplates(text: string): Value {
  return fromJson(ValueSchema, parseList(text) ?? text);
}

function parseList(text: string): JsonValue[] | undefined {
  if (text.trim() === "") return [];
  try {
    const json: JsonValue = JSON.parse(text);
    return Array.isArray(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
