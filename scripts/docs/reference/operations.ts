import { readFileSync } from "node:fs";
import type { DescMethod } from "@bufbuild/protobuf";
import type { Json } from "../../../src/base/json.js";
import { rpcMethods } from "./rpc-methods.js";
import type { Schema } from "./schema.js";

/** The part of gen/openapi.json that the reference shows. */
export interface Description {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}

interface Reference {
  readonly $ref: string;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Response | Reference>>;
  readonly "x-permissions"?: readonly string[];
  readonly "x-permissions-one-of"?: readonly string[];
  readonly "x-container-scoped"?: boolean;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Content {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface Example {
  readonly summary: string;
  readonly value: Json;
}

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, Content>>;
}

/** An operation of the API as its page shows it. */
export interface Operation {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  /** Paragraphs. */
  readonly description: readonly string[];
  readonly verbs: readonly string[];
  readonly path: string;
  readonly method: DescMethod | undefined;
  /** All of them, or one of those in `oneOf`. */
  readonly permissions: {
    readonly all: readonly string[];
    readonly oneOf: readonly string[];
    readonly scoped: boolean;
  };
  readonly parameters: readonly Parameter[];
  readonly isRepeatable: boolean;
  readonly body: (Content & { readonly type: string }) | undefined;
  readonly response: { readonly status: string; readonly content: Content | undefined };
  /** The codes of the errors, by status. */
  readonly problems: readonly { readonly status: string; readonly codes: readonly string[] }[];
}

/** The operations below one tag. */
export interface Resource {
  readonly name: string;
  readonly description: string;
  readonly path: string;
  readonly operations: readonly Operation[];
}

const PROXY = "/proxy";

export function readDescription(): Description {
  return JSON.parse(readFileSync("gen/openapi.json", "utf8"));
}

export async function readResources(description: Description): Promise<readonly Resource[]> {
  const methods = await rpcMethods();
  const described = Object.entries(description.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ path, verb: verb.toUpperCase(), operation })),
  );
  return description.tags.map(({ name, description: about }) => {
    const own = described.filter(({ operation }) => operation.tags.includes(name));
    const shown = own.filter(({ path, verb, operation }) => isShown(path, verb, operation.operationId));
    return {
      name,
      description: about,
      path: `/docs/api/${name.toLowerCase().replaceAll(" ", "-")}`,
      operations: shown.map(({ path, verb, operation }) => {
        const verbs = path === PROXY ? own.filter((each) => each.path === path).map((each) => each.verb) : [verb];
        return toOperation(description, operation, { path, verbs, method: methods.get(operation.operationId) });
      }),
    };
  });
}

/** A proxy takes every verb and every path below its own, and some operations have a second address: each is shown once. */
function isShown(path: string, verb: string, operationId: string): boolean {
  if (path.startsWith(PROXY)) return path === PROXY && verb === "POST";
  return !/\d$/.test(operationId);
}

function toOperation(
  description: Description,
  operation: DescribedOperation,
  route: Pick<Operation, "path" | "verbs" | "method">,
): Operation {
  const parameters = (operation.parameters ?? []).map((each) => resolved(each, description.components.parameters));
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const responses = Object.entries(operation.responses).map(([status, response]) => ({
    status,
    response: resolved(response, description.components.responses),
  }));
  const success = responses.find(({ status }) => status.startsWith("2"));
  return {
    ...route,
    id: operation.operationId,
    title: route.path === PROXY ? "Call a proxy" : titled(operation.operationId),
    summary: route.path === PROXY ? "Sends a request through a proxy" : operation.summary,
    description: (operation.description ?? "")
      .split("\n\n")
      .filter((text) => text !== "" && !/^Needs [^.]*\.$/.test(text)),
    permissions: {
      all: operation["x-permissions"] ?? [],
      oneOf: operation["x-permissions-one-of"] ?? [],
      scoped: operation["x-container-scoped"] ?? false,
    },
    parameters: parameters.filter(({ name }) => name !== "BT-TRACE-ID" && name !== "BT-IDEMPOTENCY-KEY"),
    isRepeatable: parameters.some(({ name }) => name === "BT-IDEMPOTENCY-KEY"),
    body: type !== undefined && content !== undefined ? { type, ...content } : undefined,
    response: {
      status: success?.status ?? "",
      content: Object.values(success?.response.content ?? {})[0],
    },
    problems: responses
      .filter(({ status }) => /^[45]\d\d$/.test(status))
      .map(({ status, response }) => ({
        status,
        codes: [...response.description.matchAll(/`(\w+)`:/g)].flatMap(([, code]) => code ?? []),
      })),
  };
}

/** "createToken" as "Create token". */
function titled(operationId: string): string {
  const words = operationId
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ")
    .split(" ")
    .map((word, at) =>
      at === 0 ? word.charAt(0).toUpperCase() + word.slice(1) : /^[A-Z]{2}/.test(word) ? word : word.toLowerCase(),
    );
  return words.join(" ");
}

function resolved<T extends object>(value: T | Reference, components: Readonly<Record<string, T>>): T {
  if (!("$ref" in value)) return value;
  const name = value.$ref.split("/").at(-1) ?? "";
  const found = components[name];
  if (!found) throw new Error(`gen/openapi.json has no ${value.$ref}`);
  return found;
}
