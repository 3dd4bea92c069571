import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { reflect, scalarZeroValue } from "@bufbuild/protobuf/reflect";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileValidation } from "../../src/api/pipeline/validation.js";
import { isAlwaysSet, restName } from "../../src/api/rest/field-name.js";
import { compileJsonReader } from "../../src/api/rest/json-reader.js";
import { compileJsonWriter } from "../../src/api/rest/json-writer.js";
import type { RestMethod } from "../../src/api/rest/rest-method.js";
import { Fault } from "../../src/base/fault.js";
import type { Json } from "../../src/base/json.js";
import { description, operations, requestValidator, rulesOnlyValidator } from "../support/api-description.js";
import { bodyLike } from "../support/generated-bodies.js";
import { routes } from "../support/rest-routes.js";

const withObjectBody = routes.flatMap((route) => {
  const placed = operations.find(({ verb, path }) => verb === route.verb && path === route.path.text);
  const schema = placed?.operation.requestBody?.content["application/json"]?.schema;
  return placed && schema?.$ref ? [{ name: route.method.desc.name, route, placed, schema }] : [];
});

describe("the schema of a request body", () => {
  it.each(withObjectBody)("of $name rejects what the protos reject, and nothing else", ({ route, placed, schema }) => {
    const matchesRules = rulesOnlyValidator(placed, "application/json");
    const matches = requestValidator(placed, "application/json");
    const isTaken = serverSide(route);
    fc.assert(
      fc.property(bodyLike(schema), (body) => {
        expect({ body, isTaken: matchesRules(body) }).toEqual({ body, isTaken: isTaken(body) });
        // Further rules refuse more, which test/e2e/protocols/openapi-requests.test.ts tries on a server.
        if (matches(body)) expect({ body, isTaken: matchesRules(body) }).toEqual({ body, isTaken: true });
      }),
      { numRuns: 150 },
    );
  });
});

describe("the schema of a response", () => {
  const responses = new Map(routes.map(({ method }) => [method.desc.output.typeName, method.desc.output]));
  const described = [...responses.values()].filter(({ name }) => name in description.components.schemas);

  it.each(described)("$name requires the fields that are always present and lists the others", (desc) => {
    const { required = [], properties = {} } = description.components.schemas[desc.name] ?? {};
    const write = compileJsonWriter(desc);
    const always = desc.fields.filter(isAlwaysSet).map(restName);
    expect([...Object.keys(JSON.parse(write(create(desc)))), ...always].toSorted()).toEqual(required.toSorted());
    expect(Object.keys(JSON.parse(write(filled(desc))))).toEqual(Object.keys(properties));
  });
});

/** How the server judges a body: it parses it and checks the rules. */
function serverSide({ method, path }: RestMethod): (body: Json) => boolean {
  const { input } = method.desc;
  const read = compileJsonReader(input);
  const validate = compileValidation(input);
  // Path variables have rules too, which do not matter here.
  const variables = input.fields.filter(({ name }) => path.variables.includes(name));
  const bound = Object.fromEntries(
    variables.map(({ localName }) => [localName, "01980f70-1a2b-7c4d-9e5f-60718293a4b5"]),
  );
  return (body) => {
    try {
      validate(Object.assign(read(body), bound));
      return true;
    } catch (error) {
      if (error instanceof Fault) return false;
      throw error;
    }
  };
}

/** A message with every field set. */
function filled(desc: DescMessage, depth = 0): Message {
  const message = create(desc);
  const all = reflect(desc, message);
  for (const field of desc.fields) {
    const value = field.message
      ? field.message.typeName === ValueSchema.typeName
        ? reflect(ValueSchema, create(ValueSchema, { kind: { case: "stringValue", value: "text" } }))
        : reflect(field.message, depth > 3 ? create(field.message) : filled(field.message, depth + 1))
      : field.scalar === undefined
        ? 0
        : scalarZeroValue(field.scalar, false);
    if (field.fieldKind === "list") all.get(field).add(value);
    else if (field.fieldKind === "map") all.get(field).set("key", value);
    else all.set(field, value);
  }
  return message;
}
