import type { DescMessage, Message } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { CreateApplicationRequestSchema } from "../../../gen/cloakroom/v1/applications_pb.js";
import { CreateTokenRequestSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { readMessageJson } from "../../../src/api/rpc/rpc-json-faults.js";
import type { Json } from "../../../src/base/json.js";
import { faultFields } from "../../expressions/faults.js";

describe("JSON of a message over RPC", () => {
  const read = (json: Json, desc: DescMessage = CreateTokenRequestSchema): Message => {
    const text = JSON.stringify(json);
    return readMessageJson(desc, text, text.length, { ignoreUnknownFields: true });
  };

  it.each<[string, Json, Readonly<Record<string, string>>]>([
    ["a number in place of a text", { type: 5 }, { type: "must be a string" }],
    ["a text in place of a switch", { deduplicateToken: "yes" }, { deduplicate_token: "must be true or false" }],
    ["a wrong entry of a list", { containers: ["/", 5] }, { "containers[1]": "must be a string" }],
    ["a text in place of a list", { containers: "/" }, { containers: "must be a list" }],
    ["a wrong value of a map", { metadata: { a: [], b: "x" } }, { "metadata.a": "must be a string" }],
    ["a list in place of a map", { metadata: [] }, { metadata: "must be an object" }],
    ["half a surrogate pair", { type: "\ud800" }, { type: "must be a string without half surrogate pairs" }],
    [
      "all of them at once",
      { type: 1, containers: [2], searchIndexes: 3 },
      { type: "must be a string", "containers[0]": "must be a string", search_indexes: "must be a list" },
    ],
  ])("is refused with %s, naming the field", (_, json, faults) => {
    const listed = Object.fromEntries(Object.entries(faults).map(([name, text]) => [name, [text]]));
    expect(faultFields(() => read(json))).toEqual(listed);
  });

  it("is refused with the place within a list of messages", () => {
    const rules = [{ priority: 1 }, { priority: "one", permissions: [true] }, 7];
    expect(faultFields(() => read({ rules }, CreateApplicationRequestSchema))).toEqual({
      "rules[1].priority": ["must be a whole number"],
      "rules[1].permissions[0]": ["must be a string"],
      "rules[2]": ["must be an object"],
    });
  });
});
