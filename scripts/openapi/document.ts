import { type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.js";
import type { JsonObject } from "../../src/base/json.js";
import { commentOf } from "./comments.js";
import { FUNCTION_PROBLEM_SCHEMA } from "./function-failures.js";
import { operationOf, type PlacedOperation } from "./operation.js";
import { HEADER_PARAMETERS, RESPONSE_HEADERS } from "./parameters.js";
import { PROBLEM_RESPONSES, PROBLEM_SCHEMA } from "./problems.js";
import { PROXY_OPERATIONS, PROXY_SCHEMAS } from "./proxy-route.js";
import { Schemas } from "./schemas.js";

const INTRODUCTION = `Cloakroom stores sensitive values and hands out tokens for them.

Every operation here is also served over gRPC, gRPC-Web and Connect at the same port; \`proto/cloakroom/v1\` describes it there.

**Keys.** Send an application's key, or a session's, in the header \`BT-API-KEY\`. Each operation names the permissions it needs.

**Failures** are problem details (RFC 9457) with a \`code\` for programs and, for wrong requests, \`errors\` by field.

**Repeats.** Send a \`BT-IDEMPOTENCY-KEY\` with a request that changes something, and it can be sent again without changing it twice.
The response is then the first one, under the rights that hold by then, with the header \`BT-IDEMPOTENCY-REPLAYED: true\`.

**Times** are in UTC, with three digits of a second.

**Other fields** than those listed are ignored in requests, except within the data of cards and bank accounts, where a request names some that it refuses, and where a name is one slip away from a listed one. Other parameters of lists and deletes are refused. Answers may bring new fields.`;

/** The order of the groups. A group that is not listed comes last. */
const GROUPS = [
  ...["Token", "Tokenize", "Application", "Application Key", "Session", "Permission"],
  ...["Proxy", "Reactor", "Reactor Formula"],
  ...["Connection", "Transaction", "Three DS"],
  ...["Log", "Tenant", "Member", "Invitation"],
];

function byGroup({ name: one }: { readonly name: string }, { name: other }: { readonly name: string }): number {
  const place = (name: string) => (GROUPS.includes(name) ? GROUPS.indexOf(name) : GROUPS.length);
  return place(one) - place(other);
}

/** The document of all services: OpenAPI 3.1. */
export function documentOf(services: readonly DescService[]): JsonObject {
  const schemas = new Schemas();
  const operations = services.flatMap((service) => operationsOf(service, schemas));
  return {
    openapi: "3.1.0",
    info: {
      title: "Cloakroom",
      version: "v1",
      description: INTRODUCTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ "BT-API-KEY": [] }],
    tags: services
      .filter((service) => service.methods.some((method) => hasOption(method, http)))
      .map((service) => ({ name: tagOf(service), description: commentOf(service) ?? "" }))
      .toSorted(byGroup),
    paths: pathsOf([...operations, ...PROXY_OPERATIONS]),
    components: {
      securitySchemes: {
        "BT-API-KEY": {
          type: "apiKey",
          in: "header",
          name: "BT-API-KEY",
          description: "The key of an application or a session.",
        },
      },
      parameters: HEADER_PARAMETERS,
      headers: RESPONSE_HEADERS,
      responses: PROBLEM_RESPONSES,
      schemas: { ...schemas.all, Problem: PROBLEM_SCHEMA, FunctionProblem: FUNCTION_PROBLEM_SCHEMA, ...PROXY_SCHEMAS },
    },
  };
}

function operationsOf(service: DescService, schemas: Schemas): PlacedOperation[] {
  const tag = tagOf(service);
  return service.methods.flatMap((method) => {
    if (!hasOption(method, http)) return [];
    const rule = getOption(method, http);
    return [rule, ...rule.additionalBindings].map((binding, alias) =>
      operationOf(method, binding, { alias, tag, schemas }),
    );
  });
}

function pathsOf(operations: readonly PlacedOperation[]): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const { path, verb, operation } of operations) paths[path] = { ...paths[path], [verb]: operation };
  return paths;
}

/** `ApplicationKeyService` is shown as "Application Key". */
function tagOf({ name }: DescService): string {
  return name.replace(/Service$/, "").replace(/(?<=[a-z])(?=[A-Z])/g, " ");
}
