import { type DescMethod, type DescService, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
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
import { TokenizeService, TokenService } from "../proto/cloakroom/v1/tokens_pb.js";
import { TransactionService } from "../proto/cloakroom/v1/transactions_pb.js";

const SERVICES: readonly DescService[] = [
  ...[ApplicationService, ApplicationKeyService, PermissionService, ConnectionService, InvitationService, LogService],
  ...[MemberService, ProxyService, ReactorService, ReactorFormulaService, ServerService, SessionService],
  ...[TenantService, ThreeDSService, TokenService, TokenizeService, TransactionService],
];

const METHODS: ReadonlyMap<string, DescMethod> = new Map(
  SERVICES.flatMap((service) => service.methods.map((method) => [`${service.name}/${method.name}`, method] as const)),
);

/** A level of JSON takes two messages, a Value and its Struct or ListValue, and the server takes 64 levels in 64 of mask. */
const RECURSION_LIMIT = 300;

/** @throws {AttemptError} with the name of a field whose value has another type. */
export function encodeMessage(method: string, message: EncodedObject): Uint8Array {
  const { input } = methodOf(method);
  try {
    return toBinary(input, fromJson(input, message, { recursionLimit: RECURSION_LIMIT, ignoreUnknownFields: false }));
  } catch (error) {
    throw unfit(error);
  }
}

/**
 * JSON of protobuf. Fields that a newer server has are left out.
 * @throws {AttemptError} for bytes that are no such message. The library's error may quote them, and is dropped.
 */
export function decodeMessage(method: string, bytes: Uint8Array): unknown {
  const { output } = methodOf(method);
  try {
    return toJson(output, fromBinary(output, bytes, { recursionLimit: RECURSION_LIMIT }));
  } catch {
    throw new AttemptError({ code: "bad_answer", message: "The server sent a message that this client cannot read." });
  }
}

function methodOf(name: string): DescMethod {
  const method = METHODS.get(name);
  if (!method) throw new Error(`there is no method ${name}`);
  return method;
}

/** The library's words quote the value, which may be secret: its field is all that is taken from them. */
function unfit(error: unknown): AttemptError {
  const text = error instanceof Error ? error.message : "";
  const [, field] = /field [\w.]*?(\w+) from JSON/.exec(text) ?? /key "(\w+)"/.exec(text) ?? [];
  const path = (field ?? "input").replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const words = /is unknown|key "/.test(text)
    ? "is not a field of this call"
    : "has a value of another type than its field";
  return new AttemptError({
    code: "validation_failed",
    message: `${path} ${words}`,
    fields: { [path]: [words] },
    didNotRun: true,
    isFinal: true,
  });
}
