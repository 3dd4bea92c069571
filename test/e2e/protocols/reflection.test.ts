import { create, createFileRegistry, fromBinary, toJson } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { rpcClient } from "../../support/rpc.js";

type Question =
  | { readonly case: "listServices"; readonly value: string }
  | { readonly case: "fileByFilename"; readonly value: string }
  | { readonly case: "fileContainingSymbol"; readonly value: string }
  | { readonly case: "allExtensionNumbersOfType"; readonly value: string }
  | {
      readonly case: "fileContainingExtension";
      readonly value: { readonly containingType: string; readonly extensionNumber: number };
    };

/** Both versions use the same messages under different names. */
interface ReflectionResponse {
  readonly case: string | undefined;
  readonly value?: unknown;
}
type Ask = (
  questions: AsyncIterable<{ messageRequest: Question }>,
) => AsyncIterable<{ messageResponse: ReflectionResponse }>;

const versions: readonly [string, Ask][] = [
  ["v1", (questions) => rpcClient(ServerReflection, "gRPC").serverReflectionInfo(questions)],
  ["v1alpha", (questions) => rpcClient(ServerReflectionAlpha, "gRPC").serverReflectionInfo(questions)],
];

describe.each(versions)("reflection %s", (_, askAll) => {
  /** Sends all requests in one stream, without a key, and returns the responses in order. */
  const ask = async (...questions: readonly Question[]): Promise<ReflectionResponse[]> => {
    const responses: ReflectionResponse[] = [];
    const stream = askAll(
      (async function* () {
        for (const messageRequest of questions) yield { messageRequest };
      })(),
    );
    for await (const { messageResponse } of stream) responses.push(messageResponse);
    return responses;
  };
  const filesIn = (response: ReflectionResponse | undefined): FileDescriptorProto[] => {
    if (response?.case !== "fileDescriptorResponse") throw new Error(`the response is ${response?.case}`);
    const bytes: unknown = Reflect.get(Object(response.value), "fileDescriptorProto");
    return Array.isArray(bytes) ? bytes.map((file) => fromBinary(FileDescriptorProtoSchema, file)) : [];
  };

  it("lists every service", async () => {
    const [response] = await ask({ case: "listServices", value: "" });
    const names = ["TokenService", "TokenizeService", "ApplicationService", "LogService", "TransactionService"];
    const service = names.map((name) => expect.objectContaining({ name: `cloakroom.v1.${name}` }));
    expect(response).toMatchObject({
      case: "listServicesResponse",
      value: { service: expect.arrayContaining(service) },
    });
  });

  it("lists health, and itself in both versions", async () => {
    const [response] = await ask({ case: "listServices", value: "" });
    const names = ["health.v1.Health", "reflection.v1.ServerReflection", "reflection.v1alpha.ServerReflection"];
    const service = names.map((name) => expect.objectContaining({ name: `grpc.${name}` }));
    expect(response).toMatchObject({ value: { service: expect.arrayContaining(service) } });
  });

  it.each([
    ["grpc.health.v1.Health", "Check"],
    ["grpc.health.v1.HealthCheckResponse.ServingStatus", "SERVING"],
    ["grpc.reflection.v1.ServerReflection", "ServerReflectionInfo"],
    ["grpc.reflection.v1alpha.ServerReflectionRequest", "file_containing_symbol"],
    ["google.rpc.ErrorInfo", "reason"],
    ["google.rpc.BadRequest.FieldViolation", "description"],
    ["google.rpc.RetryInfo", "retry_delay"],
    ["google.rpc.Status", "details"],
  ])("finds %s, with %s", async (value, part) => {
    const [response] = await ask({ case: "fileContainingSymbol", value });
    expect(JSON.stringify(filesIn(response).map((file) => toJson(FileDescriptorProtoSchema, file)))).toContain(
      `"${part}"`,
    );
  });

  it.each([
    "cloakroom.v1.TokenService",
    "cloakroom.v1.TokenService.GetToken",
    "cloakroom.v1.Token",
    "cloakroom.v1.CreateTokenRequest",
  ])("finds the file of %s", async (value) => {
    const [response] = await ask({ case: "fileContainingSymbol", value });
    expect(filesIn(response).map(({ name }) => name)).toContain("cloakroom/v1/tokens.proto");
  });

  it("returns everything that is needed to call a method without having its protos", async () => {
    const known = new Map<string, FileDescriptorProto>();
    const wanted = ["cloakroom/v1/tokens.proto"];
    for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
      if (known.has(name)) continue;
      const [response] = await ask({ case: "fileByFilename", value: name });
      for (const file of filesIn(response)) {
        known.set(file.name, file);
        wanted.push(...file.dependency);
      }
    }
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: inOrder(known) }));
    const service = registry.getService("cloakroom.v1.TokenService");
    expect(service?.methods.map(({ name }) => name)).toEqual(TokenService.methods.map(({ name }) => name));
    expect(service?.method.getToken?.input.fields.map(({ name }) => name)).toEqual(["id"]);
  });

  it("finds our option extensions, and their numbers", async () => {
    const type = "google.protobuf.MethodOptions";
    const [numbers, file] = await ask(
      { case: "allExtensionNumbersOfType", value: type },
      { case: "fileContainingExtension", value: { containingType: type, extensionNumber: 50001 } },
    );
    const extensionNumber = expect.arrayContaining([50001, 72295728]);
    expect(numbers).toMatchObject({ case: "allExtensionNumbersResponse", value: { extensionNumber } });
    expect(filesIn(file).map(({ name }) => name)).toContain("cloakroom/v1/options.proto");
  });

  it("reports a missing symbol as such, and continues", async () => {
    const [missing, found] = await ask(
      { case: "fileContainingSymbol", value: "cloakroom.v1.Nope" },
      { case: "fileByFilename", value: "cloakroom/v1/logs.proto" },
    );
    expect(missing).toMatchObject({ case: "errorResponse", value: { errorCode: Code.NotFound } });
    expect(filesIn(found).map(({ name }) => name)).toContain("cloakroom/v1/logs.proto");
  });
});

/** A registry needs each file after those that it imports. */
function inOrder(files: ReadonlyMap<string, FileDescriptorProto>): FileDescriptorProto[] {
  const ordered = new Set<FileDescriptorProto>();
  const visit = (name: string) => {
    const file = files.get(name);
    if (!file) throw new Error(`${name} is missing`);
    for (const dependency of file.dependency) visit(dependency);
    ordered.add(file);
  };
  for (const name of files.keys()) visit(name);
  return [...ordered];
}
