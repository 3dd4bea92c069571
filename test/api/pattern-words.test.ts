import { getOption } from "@bufbuild/protobuf";
import { field as rules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { expect, it } from "vitest";
import { rest } from "../../gen/cloakroom/v1/options_pb.js";
import { methods, reachable } from "../support/methods.js";

it("every pattern of the protos has words for those who miss it", () => {
  const all = [...reachable(methods.map(({ input }) => input))].flatMap(({ fields }) => fields);
  const patterns = all.filter((field) => {
    const { type } = getOption(field, rules);
    return type.case === "string" && type.value.pattern !== "";
  });
  expect(patterns.length).toBeGreaterThan(4);
  expect(patterns.filter((field) => getOption(field, rest).expected === "").map(String)).toEqual([]);
});
