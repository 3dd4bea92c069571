import type { JsonObject } from "../../src/base/json.js";
import { failureShape } from "./function-failures.js";
import type { PlacedOperation } from "./operation.js";

/** The one route without an annotation: it forwards any body of any type, so it is not a method of a proto. */
const VERBS = ["get", "post", "put", "patch", "delete"];

const PARAMETERS: JsonObject[] = [
  {
    name: "BT-PROXY-KEY",
    in: "header",
    description: "The key of a proxy. It may also come as the query parameter bt-proxy-key.",
    schema: { type: "string" },
  },
  {
    name: "bt-proxy-key",
    in: "query",
    description:
      "The key of a proxy, for callers that cannot set a header. It is not passed on; all other parameters are.",
    schema: { type: "string" },
  },
  {
    name: "BT-PROXY-URL",
    in: "header",
    description:
      "The https address of the destination, where no proxy was made for it. It does not count beside a key.",
    schema: { type: "string", format: "uri" },
  },
  {
    name: "BT-PROXY-KEEP-ALIVE",
    in: "header",
    description: "Becomes the header KEEP-ALIVE of the request to the destination.",
    schema: { type: "string" },
  },
  {
    name: "BT-PROXY-CONNECTION",
    in: "header",
    description: "Becomes the header CONNECTION of the request to the destination.",
    schema: { type: "string" },
  },
  { $ref: "#/components/parameters/BT-TRACE-ID" },
];

const PATH: JsonObject = {
  name: "path",
  in: "path",
  required: true,
  description: "Appended to the destination's path, byte for byte. It may hold slashes.",
  schema: { type: "string" },
};

const ANYTHING: JsonObject = { "*/*": { schema: {} } };
const DESTINATION_STATUS: JsonObject = {
  description: "The destination's status, where it responded.",
  schema: { type: "integer" },
};

const DESCRIPTION = `Sends the request to a destination with every token expression, such as \`{{ token_id }}\`, replaced by its value, and returns what the destination returns.

The destination is that of a proxy (\`BT-PROXY-KEY\`), or given with the request (\`BT-PROXY-URL\`). Proxies that require no authentication are called without \`BT-API-KEY\`.

A response has \`BT-PROXY-DESTINATION-STATUS\` once the destination has responded. Where Cloakroom or the code of a transform failed, the body is an object with \`proxy_error\`.

Needs \`token:use\` for the containers of the tokens, and for a proxy that requires authentication even where no token is used.`;

function responses(): JsonObject {
  const headers = {
    "BT-PROXY-DESTINATION-STATUS": DESTINATION_STATUS,
    "BT-TRACE-ID": { $ref: "#/components/headers/BT-TRACE-ID" },
  };
  const failure = { "application/json": { schema: { $ref: "#/components/schemas/ProxyProblem" } }, ...ANYTHING };
  return {
    "2XX": { description: "What the destination returned.", headers, content: ANYTHING },
    "4XX": { description: "What the destination returned, or why it was not asked.", headers, content: failure },
    "5XX": { description: "What the destination returned, or why it could not be asked.", headers, content: failure },
    default: { description: "What the destination returned.", headers, content: ANYTHING },
  };
}

function operation(verb: string, hasPath: boolean): JsonObject {
  const name = `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;
  return {
    operationId: `proxy${name}${hasPath ? "Path" : ""}`,
    tags: ["Proxy"],
    summary: `Sends a ${verb.toUpperCase()} request through a proxy`,
    description: DESCRIPTION,
    security: [{ "BT-API-KEY": [] }, {}],
    parameters: [...(hasPath ? [PATH] : []), ...PARAMETERS],
    ...(verb === "get" || verb === "delete" ? {} : { requestBody: { content: ANYTHING } }),
    responses: responses(),
    "x-permissions": ["token:use"],
    "x-container-scoped": true,
  };
}

export const PROXY_OPERATIONS: readonly PlacedOperation[] = VERBS.flatMap((verb) => [
  { path: "/proxy", verb, operation: operation(verb, false) },
  { path: "/proxy/{path}", verb, operation: operation(verb, true) },
]);

export const PROXY_SCHEMAS: JsonObject = {
  ProxyProblem: {
    type: "object",
    description: "Why a proxy failed, as opposed to its destination.",
    required: ["proxy_error"],
    properties: {
      proxy_error: {
        anyOf: [{ $ref: "#/components/schemas/Problem" }, { $ref: "#/components/schemas/TransformProblem" }],
      },
    },
  },
  TransformProblem: {
    type: "object",
    description: "What the code of a transform threw.",
    ...failureShape("proxy_error", {
      destination_status: {
        type: "integer",
        description: "Of a response transform: what the destination had responded with. It has done its work.",
      },
    }),
  },
};
