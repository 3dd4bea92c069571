import { describe, expect, it } from "vitest";
import { CreateApplicationRequestSchema } from "../../../gen/cloakroom/v1/applications_pb.js";
import { CreateTokenRequestSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { compileJsonReader, compilePartialJsonReader } from "../../../src/api/rest/json-reader.js";
import { compileJsonWriter } from "../../../src/api/rest/json-writer.js";
import { FieldFaultList } from "../../../src/base/field-fault-list.js";
import type { Json } from "../../../src/base/json.js";
import { faultFields } from "../../expressions/faults.js";

const readToken = compileJsonReader(CreateTokenRequestSchema);
const readApplication = compileJsonReader(CreateApplicationRequestSchema);
/** A body as it is read and written again. */
const rewritten = (json: Json): Json => JSON.parse(compileJsonWriter(CreateTokenRequestSchema)(readToken(json)));

describe("a JSON body", () => {
  it.each<[string, Json, Json]>([
    [
      "gets defaults for what it leaves out",
      { type: "token" },
      { type: "token", containers: [], metadata: {}, search_indexes: [] },
    ],
    [
      "loses a null, which means the same",
      { type: "card", id: null, containers: null },
      { type: "card", containers: [], metadata: {}, search_indexes: [] },
    ],
    [
      "keeps a null where any JSON may be",
      { type: "token", data: null },
      { type: "token", data: null, containers: [], metadata: {}, search_indexes: [] },
    ],
    [
      "keeps names of any kind in data and maps",
      JSON.parse('{"type":"token","data":{"__proto__":1,"constructor":[]},"metadata":{"__proto__":"a"}}'),
      JSON.parse(
        '{"type":"token","data":{"__proto__":1,"constructor":[]},"containers":[],"metadata":{"__proto__":"a"},"search_indexes":[]}',
      ),
    ],
    [
      "loses fields that newer clients send",
      { type: "token", color: "red" },
      { type: "token", containers: [], metadata: {}, search_indexes: [] },
    ],
    [
      "loses an unserved field that is empty",
      { type: "token", privacy: {}, encryption: null },
      { type: "token", containers: [], metadata: {}, search_indexes: [] },
    ],
  ])("%s", (_, body, read) => {
    expect(rewritten(body)).toEqual(read);
  });

  it.each<[string, Json, Readonly<Record<string, string>>]>([
    ["no object", ["type"], { body: "must be an object" }],
    ["null", null, { body: "must be an object" }],
    ["a number in place of a text", { type: 5 }, { type: "must be a string" }],
    [
      "a text in place of a switch",
      { type: "a", deduplicate_token: "true" },
      { deduplicate_token: "must be true or false" },
    ],
    ["a text in place of a list", { type: "a", containers: "/" }, { containers: "must be a list" }],
    ["a list in place of a map", { type: "a", metadata: [] }, { metadata: "must be an object" }],
    [
      "a wrong entry of a list",
      { type: "a", containers: ["/", 1, null] },
      { "containers[1]": "must be a string", "containers[2]": "must be a string" },
    ],
    ["a wrong value of a map", { type: "a", metadata: { a: 1, b: "x" } }, { "metadata.a": "must be a string" }],
    [
      "too many entries of a list",
      { type: "a", containers: new Array(21).fill("/") },
      { containers: "must have at most 20 entries" },
    ],
    ["a misspelt field", { type: "a", container: ["/"] }, { container: "is not known; containers is" }],
    ["a field in camel case", { type: "a", searchIndexes: [] }, { searchIndexes: "is not known; search_indexes is" }],
    [
      "an unserved field",
      { type: "a", privacy: { restriction_policy: "mask" } },
      { privacy: "is not served: name the container of the token, and let access rules say what is shown of it" },
    ],
    ["several at once", { type: 1, metadata: 2, mask: 3 }, { type: "must be a string", metadata: "must be an object" }],
  ])("is refused with %s", (_, body, faults) => {
    const listed = Object.fromEntries(Object.entries(faults).map(([name, text]) => [name, [text]]));
    expect(faultFields(() => readToken(body))).toEqual(listed);
  });

  it("names a wrong field within the entry of a list", () => {
    const rules = [{ priority: "1", transform: "mask", permissions: [1] }, "rule", { permission: ["token:read"] }];
    expect(faultFields(() => readApplication({ name: "A", type: "private", rules }))).toEqual({
      "rules[0].priority": ["must be a whole number"],
      "rules[0].permissions[0]": ["must be a string"],
      "rules[1]": ["must be an object"],
      "rules[2].permission": ["is not known; permissions is"],
    });
  });

  it("is read as far as it goes if it is partly wrong, for the checks that follow", () => {
    const faults = new FieldFaultList();
    const read = compilePartialJsonReader(CreateTokenRequestSchema)(
      { type: "card", id: 5, containers: ["/", 7, "/a/"] },
      faults,
    );
    expect(read).toMatchObject({ type: "card", containers: ["/", "", "/a/"] });
    expect(Object.keys(faults.toFields())).toEqual(["id", "containers[1]"]);
  });

  it("lists a hundred faults of a body that has more", () => {
    const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`m${index}`, 1]));
    const containers = new Array(20).fill(1);
    const search_indexes = new Array(20).fill(1);
    const rest = { type: 1, id: 1, fingerprint_expression: 1, expires_at: 1, deduplicate_token: 1 };
    expect(
      Object.keys(faultFields(() => readToken({ metadata, containers, search_indexes, ...rest })) ?? {}),
    ).toHaveLength(95);
    const rules = new Array(100).fill({ priority: "x", transform: 1 });
    expect(Object.keys(faultFields(() => readApplication({ rules })) ?? {})).toHaveLength(100);
  });
});
