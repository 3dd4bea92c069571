import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { EncodedObject } from "../encode.js";
import { AttemptError } from "../errors.js";
import { ApplicationKeyService, ApplicationService, PermissionService } from "../proto/cloakroom/v1/applications_pb.js";
import { ConnectionService } from "../proto/cloakroom/v1/connections_pb.js";
import { InvitationService } from "../proto/cloakroom/v1/invitations_pb.js";
import { LogService } from "../proto/cloakroom/v1/logs_pb.js";
import { MemberService } from "../proto/cloakroom/v1/members_pb.js";
import { ProxyService } from "../proto/cloakroom/v1/proxies_pb.js";
import { ReactorFormulaService, ReactorService } from "../proto/cloakroom/v1/reactors_pb.js";
import { ServerService } from "../proto/cloakroom/v1/server_pb.js";
import { SessionService } from "../proto/cloakroom/v1/sessions_pb.js";
import { TenantService } from "../proto/cloakroom/v1/tenants_pb.js";
import { ThreeDSService } from "../proto/cloakroom/v1/threeds_pb.js";
import { TokenExportService } from "../proto/cloakroom/v1/token_exports_pb.js";
import { TokenizeService, TokenService } from "../proto/cloakroom/v1/tokens_pb.js";
import { TransactionService } from "../proto/cloakroom/v1/transactions_pb.js";
import { WebhookService } from "../proto/cloakroom/v1/webhooks_pb.js";
import { readMessage } from "./message-reader.js";
import { writeMessage } from "./message-writer.js";

const SERVICES: readonly DescService[] = [
  ...[ApplicationService, ApplicationKeyService, PermissionService, ConnectionService, InvitationService, LogService],
  ...[MemberService, ProxyService, ReactorService, ReactorFormulaService, ServerService, SessionService],
  ...[
    TenantService,
    ThreeDSService,
    TokenExportService,
    TokenService,
    TokenizeService,
    TransactionService,
    WebhookService,
  ],
];

/** All methods by their names, such as `TokenService/CreateToken`. */
export const METHODS: ReadonlyMap<string, DescMethod> = new Map(
  SERVICES.flatMap((service) => service.methods.map((method) => [`${service.name}/${method.name}`, method] as const)),
);

/**
 * Writes a request, behind `headBytes` that are left free.
 * @throws {AttemptError} with the name of a field whose value has another type.
 */
export function encodeMessage(method: string, message: EncodedObject, headBytes: number): Buffer {
  return writeMessage(methodOf(method).input, message, headBytes);
}

/**
 * Reads a response as JSON of protobuf, with times as Dates. Fields that a newer server has are left out.
 * @throws {AttemptError} for bytes that do not hold such a message.
 */
export function decodeMessage(method: string, bytes: Uint8Array): unknown {
  const { output } = methodOf(method);
  try {
    return readMessage(output, bytes);
  } catch {
    throw new AttemptError({ code: "bad_answer", message: "The server sent a message that this client cannot read." });
  }
}

function methodOf(name: string): DescMethod {
  const method = METHODS.get(name);
  if (!method) throw new Error(`there is no method ${name}`);
  return method;
}
