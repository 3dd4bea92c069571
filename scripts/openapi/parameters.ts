import type { DescField } from "@bufbuild/protobuf";
import type { JsonObject } from "../../src/base/json.js";
import { commentOf } from "./comments.js";
import { isRequired } from "./rules.js";
import type { Schemas } from "./schemas.js";

/** Headers that many or all operations accept. */
export const HEADER_PARAMETERS: JsonObject = {
  "BT-TRACE-ID": {
    name: "BT-TRACE-ID",
    in: "header",
    description:
      "The caller's own id for the request: 1 to 128 letters, digits, dots, - and _. A new one is made when it is left " +
      "out or has another form.",
    schema: { type: "string" },
  },
  "BT-IDEMPOTENCY-KEY": {
    name: "BT-IDEMPOTENCY-KEY",
    in: "header",
    description:
      "A repeat with the same key within 24 hours, by the same application to the same resource, changes nothing and " +
      "gets the first success again: tokens masked or redacted as the rights say by then, and values that are shown " +
      "once (a new key, a session) only with the API key that made the first request.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  },
};

export const RESPONSE_HEADERS: JsonObject = {
  "BT-TRACE-ID": {
    description: "The id of the request, as the operator's log has it.",
    schema: { type: "string" },
  },
  "BT-IDEMPOTENCY-REPLAYED": {
    description: "Present where the response is that of an earlier request with the same idempotency key.",
    schema: { type: "string", const: "true" },
  },
  "WWW-Authenticate": {
    description: "Names the header of the key (RFC 9110, 11.6.1).",
    schema: { type: "string", const: 'ApiKey header="BT-API-KEY"' },
  },
  "Retry-After": { description: "Seconds after which to try again.", schema: { type: "integer" } },
  "RateLimit-Limit": { description: "Requests that a window takes.", schema: { type: "integer" } },
  "RateLimit-Remaining": { description: "Requests left in the window.", schema: { type: "integer" } },
  "RateLimit-Reset": { description: "Seconds to the end of the window.", schema: { type: "integer" } },
};

export function headerParameters(isIdempotent: boolean): JsonObject[] {
  const names = isIdempotent ? ["BT-IDEMPOTENCY-KEY", "BT-TRACE-ID"] : ["BT-TRACE-ID"];
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

export function pathParameter(field: DescField, schemas: Schemas): JsonObject {
  return { ...parameter(field, schemas), in: "path", required: true };
}

/** Lists are repeated, maps are deep objects. */
export function queryParameter(field: DescField, schemas: Schemas): JsonObject {
  if (field.message) throw new Error(`a query cannot hold ${field.toString()}`);
  const described = { ...parameter(field, schemas), in: "query", ...(isRequired(field) ? { required: true } : {}) };
  if (field.fieldKind === "list") return { ...described, style: "form", explode: true };
  if (field.fieldKind !== "map") return described;
  const { name } = field;
  const spellings = `Also spelled \`${name}.key=value\`, or as one JSON object: \`${name}={"key":"value"}\`.`;
  return {
    ...described,
    style: "deepObject",
    explode: true,
    description: [commentOf(field), spellings].filter((text) => text !== undefined).join(" "),
  };
}

function parameter(field: DescField, schemas: Schemas): JsonObject {
  const { description, ...schema } = schemas.ofField(field, "caller");
  return { name: field.name, ...(description === undefined ? {} : { description }), schema };
}
