import { type DescField, getOption, ScalarType, toJson } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  type FieldRules,
  FieldRulesSchema,
  Ignore,
  message as messageRules,
  field as rulesOption,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { restFields } from "../../src/api/rest/field-name.js";
import { isJsonObject, type Json, type JsonObject } from "../../src/base/json.js";

type Translate = (value: Json) => JsonObject;

const asNumber =
  (keyword: string): Translate =>
  (value) => ({ [keyword]: Number(value) });

const NUMBER_RULES: Readonly<Record<string, Translate>> = {
  gt: asNumber("exclusiveMinimum"),
  gte: asNumber("minimum"),
  lt: asNumber("exclusiveMaximum"),
  lte: asNumber("maximum"),
};

/** Each rule of protovalidate as JSON Schema, by the type of field. Rules of items and entries nest. */
const RULES: Readonly<Record<string, Readonly<Record<string, Translate>>>> = {
  string: {
    minLen: asNumber("minLength"),
    maxLen: asNumber("maxLength"),
    pattern: (value) => ({ pattern: value }),
    in: (value) => ({ enum: value }),
    uuid: () => ({ format: "uuid" }),
  },
  int32: NUMBER_RULES,
  int64: NUMBER_RULES,
  repeated: {
    minItems: asNumber("minItems"),
    maxItems: asNumber("maxItems"),
    items: (value) => ({ items: translate(value) }),
  },
  map: {
    minPairs: asNumber("minProperties"),
    maxPairs: asNumber("maxProperties"),
    keys: (value) => ({ propertyNames: translate(value) }),
    values: (value) => ({ additionalProperties: translate(value) }),
  },
};

/**
 * The keywords of JSON Schema that express a field's rules.
 * @throws {Error} for a rule without an equivalent: a document that omits a rule would mislead.
 */
export function keywordsOf(field: DescField): JsonObject {
  const rules = rulesOf(field);
  const keywords = translate(toJson(FieldRulesSchema, rules));
  if (rules.ignore === Ignore.IF_ZERO_VALUE) return orEmpty(field, keywords);
  return { ...leastOf(field, keywords), ...keywords };
}

/** The rules, or an empty string, which means that the field is absent. */
function orEmpty(field: DescField, keywords: JsonObject): JsonObject {
  if (field.fieldKind !== "scalar" || field.scalar !== ScalarType.STRING) {
    throw new Error(`the document cannot say that ${field.toString()} may be empty`);
  }
  return { anyOf: [keywords, { maxLength: 0 }] };
}

/** Whether a request without the field is rejected: it is required, or the value of an absent field breaks a rule. */
export function isRequired(field: DescField): boolean {
  if (rulesOf(field).required || isOnlyAlternative(field)) return true;
  if (field.presence !== FeatureSet_FieldPresence.IMPLICIT) return false;
  const { enum: choices, format, pattern, minLength, minimum, minItems, minProperties } = keywordsOf(field);
  return (
    (Array.isArray(choices) && !choices.includes("")) ||
    format === "uuid" ||
    (typeof pattern === "string" && !new RegExp(pattern, "u").test("")) ||
    [minLength, minimum, minItems, minProperties].some((least) => Number(least ?? 0) > 0)
  );
}

/** Whether one of several fields is required, and REST has only this one of them. */
function isOnlyAlternative(field: DescField): boolean {
  const rules = getOption(field.parent, messageRules).oneof;
  const rule = rules.find(({ required, fields }) => required && fields.includes(field.name));
  const served = restFields(field.parent).filter(({ name }) => rule?.fields.includes(name));
  return served.length === 1 && served[0] === field;
}

function rulesOf(field: DescField): FieldRules {
  return getOption(field, rulesOption);
}

/** `required` also rejects the empty value if the field cannot distinguish it from an absent one. */
function leastOf(field: DescField, keywords: JsonObject): JsonObject {
  if (!rulesOf(field).required || field.presence !== FeatureSet_FieldPresence.IMPLICIT) return {};
  if (field.fieldKind === "list") return { minItems: 1 };
  if (field.fieldKind === "map") return { minProperties: 1 };
  const saysMore = "enum" in keywords || "format" in keywords;
  return field.scalar === ScalarType.STRING && !saysMore ? { minLength: 1 } : {};
}

function translate(rules: Json): JsonObject {
  if (!isJsonObject(rules)) return {};
  const { required: _, ignore: __, ...byType } = rules;
  return Object.assign({}, ...Object.entries(byType).map(([type, set]) => translateSet(type, set)));
}

function translateSet(type: string, set: Json): JsonObject {
  if (!isJsonObject(set)) throw new Error(`the document cannot say the rule ${type}`);
  return Object.assign(
    {},
    ...Object.entries(set).map(([rule, value]) => {
      const say = RULES[type]?.[rule];
      if (!say) throw new Error(`the document cannot say the rule ${type}.${rule}`);
      return say(value);
    }),
  );
}
