import { create, createFileRegistry, type DescField, type MessageInitShape, setExtension } from "@bufbuild/protobuf";
import {
  FieldOptionsSchema,
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { FieldRulesSchema, field as rulesOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { describe, expect, it } from "vitest";
import { isRequired, keywordsOf } from "../../../scripts/openapi/rules.js";

type Rules = MessageInitShape<typeof FieldRulesSchema>;
type Kind = "text" | "optional text" | "texts" | "number";

/** The only field of a message created for it. */
function fieldWith(kind: Kind, rules: Rules): DescField {
  const options = create(FieldOptionsSchema);
  setExtension(options, rulesOption, create(FieldRulesSchema, rules));
  const isOptional = kind === "optional text";
  const set = create(FileDescriptorSetSchema, {
    file: [
      {
        name: "made.proto",
        syntax: "proto3",
        messageType: [
          {
            name: "Made",
            oneofDecl: isOptional ? [{ name: "_given" }] : [],
            field: [
              {
                name: "given",
                number: 1,
                type: kind === "number" ? Type.INT32 : Type.STRING,
                label: kind === "texts" ? Label.REPEATED : Label.OPTIONAL,
                options,
                ...(isOptional ? { proto3Optional: true, oneofIndex: 0 } : {}),
              },
            ],
          },
        ],
      },
    ],
  });
  const [field] = createFileRegistry(set).getMessage("Made")?.fields ?? [];
  if (!field) throw new Error("the message has no field");
  return field;
}

const uuid: Rules = { type: { case: "string", value: { wellKnown: { case: "uuid", value: true } } } };
const choice: Rules = { type: { case: "string", value: { in: ["a", "b"] } } };
const pattern: Rules = { type: { case: "string", value: { pattern: "^x*$" } } };
const range: Rules = {
  type: { case: "int32", value: { greaterThan: { case: "gte", value: 1 }, lessThan: { case: "lt", value: 9 } } },
};
const few: Rules = {
  type: {
    case: "repeated",
    value: { minItems: 1n, maxItems: 3n, items: { type: { case: "string", value: { maxLen: 5n } } } },
  },
};

describe("rules of protovalidate", () => {
  it.each<[string, Kind, Rules, object, boolean]>([
    ["none", "text", {}, {}, false],
    ["required", "text", { required: true }, { minLength: 1 }, true],
    ["required, where absent differs from empty", "optional text", { required: true }, {}, true],
    ["required list", "texts", { required: true }, { minItems: 1 }, true],
    ["uuid", "text", uuid, { format: "uuid" }, true],
    ["uuid that may be absent", "optional text", uuid, { format: "uuid" }, false],
    ["choices", "text", choice, { enum: ["a", "b"] }, true],
    ["a pattern that takes the empty text", "text", pattern, { pattern: "^x*$" }, false],
    ["a range without zero", "number", range, { minimum: 1, exclusiveMaximum: 9 }, true],
    ["items", "texts", few, { minItems: 1, maxItems: 3, items: { maxLength: 5 } }, true],
  ])("%s: become keywords, and decide whether a field is required", (_name, kind, rules, keywords, required) => {
    const field = fieldWith(kind, rules);
    expect(keywordsOf(field)).toEqual(keywords);
    expect(isRequired(field)).toBe(required);
  });

  it.each<[string, Rules]>([
    ["string.email", { type: { case: "string", value: { wellKnown: { case: "email", value: true } } } }],
    ["string.prefix", { type: { case: "string", value: { prefix: "x" } } }],
    ["cel", { cel: [{ id: "one", expression: "this != ''" }] }],
  ])("%s is not omitted silently", (name, rules) => {
    expect(() => keywordsOf(fieldWith("text", rules))).toThrow(name);
  });
});
