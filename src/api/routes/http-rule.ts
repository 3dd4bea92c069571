import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../../gen/google/api/http_pb.js";
import { parsePathTemplate } from "./path-template.js";

export type HttpVerb = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The fields that a method's path binds: they name the resource it works on. */
export function readPathVariables(desc: DescMethod): readonly string[] {
  return hasOption(desc, http) ? parsePathTemplate(readPattern(getOption(desc, http)).text).variables : [];
}

export function readPattern({ pattern }: HttpRule): { verb: HttpVerb; text: string } {
  switch (pattern.case) {
    case "get":
      return { verb: "GET", text: pattern.value };
    case "post":
      return { verb: "POST", text: pattern.value };
    case "put":
      return { verb: "PUT", text: pattern.value };
    case "patch":
      return { verb: "PATCH", text: pattern.value };
    case "delete":
      return { verb: "DELETE", text: pattern.value };
    default:
      throw new Error(`REST does not serve the pattern ${pattern.case}`);
  }
}
