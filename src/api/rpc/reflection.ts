import { type DescFile, type DescMessage, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter, type ConnectRouterOptions, type ServiceImpl } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "../../../gen/google/rpc/status_pb.js";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { Health } from "../../../gen/health/v1/health_pb.js";

/** Requests and responses are the same in both published versions of the protocol. */
interface Question {
  readonly messageRequest:
    | { case: "fileByFilename" | "fileContainingSymbol" | "allExtensionNumbersOfType" | "listServices"; value: string }
    | { case: "fileContainingExtension"; value: { containingType: string; extensionNumber: number } }
    | { case: undefined; value?: undefined };
}

/**
 * gRPC server reflection: a client can list and call every method without the protos, including health and reflection,
 * and can decode error details.
 */
export function registerReflection(
  router: ConnectRouter,
  services: readonly DescService[],
  limits: ConnectRouterOptions,
): void {
  const all = [...services, Health, ServerReflection, ServerReflectionAlpha];
  const catalogue = new Catalogue(all, [file_google_rpc_error_details, file_google_rpc_status]);
  const stable: ServiceImpl<typeof ServerReflection> = {
    async *serverReflectionInfo(questions) {
      for await (const question of questions)
        yield { originalRequest: question, messageResponse: catalogue.responseTo(question) };
    },
  };
  const alpha: ServiceImpl<typeof ServerReflectionAlpha> = {
    async *serverReflectionInfo(questions) {
      for await (const question of questions)
        yield { originalRequest: question, messageResponse: catalogue.responseTo(question) };
    },
  };
  router.service(ServerReflection, stable, limits).service(ServerReflectionAlpha, alpha, limits);
}

class Catalogue {
  readonly #services: readonly DescService[];
  readonly #files = new Map<string, DescFile>();
  readonly #bySymbol = new Map<string, DescFile>();
  readonly #byExtension = new Map<string, DescFile>();

  /** @param others files that no service imports. */
  constructor(services: readonly DescService[], others: readonly DescFile[]) {
    this.#services = services;
    for (const file of [...services.map((service) => service.file), ...others]) this.#add(file);
  }

  responseTo({ messageRequest }: Question) {
    switch (messageRequest.case) {
      case "listServices":
        return {
          case: "listServicesResponse",
          value: { service: this.#services.map(({ typeName }) => ({ name: typeName })) },
        } as const;
      case "fileByFilename":
        return describe(this.#files.get(messageRequest.value));
      case "fileContainingSymbol":
        return describe(this.#bySymbol.get(messageRequest.value));
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = messageRequest.value;
        return describe(this.#byExtension.get(`${containingType} ${extensionNumber}`));
      }
      case "allExtensionNumbersOfType": {
        const type = messageRequest.value;
        const extensionNumber = [...this.#byExtension.keys()]
          .filter((key) => key.startsWith(`${type} `))
          .map((key) => Number(key.slice(type.length + 1)));
        return { case: "allExtensionNumbersResponse", value: { baseTypeName: type, extensionNumber } } as const;
      }
      default:
        return refusal(Code.InvalidArgument, "the question is not known");
    }
  }

  #add(file: DescFile): void {
    const name = file.proto.name;
    if (this.#files.has(name)) return;
    this.#files.set(name, file);
    for (const dependency of file.dependencies) this.#add(dependency);
    const { messages, enums, services, extensions } = file;
    for (const { typeName } of [...enums, ...services, ...extensions]) this.#bySymbol.set(typeName, file);
    for (const message of messages) this.#addMessage(message, file);
    for (const service of services) {
      for (const method of service.methods) this.#bySymbol.set(`${service.typeName}.${method.name}`, file);
    }
    for (const { extendee, number } of extensions) this.#byExtension.set(`${extendee.typeName} ${number}`, file);
  }

  #addMessage({ typeName, nestedMessages, nestedEnums }: DescMessage, file: DescFile): void {
    this.#bySymbol.set(typeName, file);
    for (const nested of nestedEnums) this.#bySymbol.set(nested.typeName, file);
    for (const nested of nestedMessages) this.#addMessage(nested, file);
  }
}

function describe(file: DescFile | undefined) {
  if (!file) return refusal(Code.NotFound, "there is no such file or symbol");
  const fileDescriptorProto = [toBinary(FileDescriptorProtoSchema, file.proto)];
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } } as const;
}

function refusal(errorCode: Code, errorMessage: string) {
  return { case: "errorResponse", value: { errorCode, errorMessage } } as const;
}
