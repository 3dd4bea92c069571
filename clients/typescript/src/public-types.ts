export type { Call, CallOptions, ResponseOf } from "./call.js";
export type { ClientErrorCode, ErrorCode, ServerErrorCode } from "./errors.js";
export { CloakroomError } from "./errors.js";
export type { Followed, FollowOptions } from "./follow.js";
export type * from "./generated/messages.js";
export type { List, Page } from "./list.js";
export type {
  CloakroomOptions,
  InterceptedRequest,
  InterceptedResponse,
  Interceptor,
  Logger,
  LogLevel,
  NodeOptions,
  TlsOptions,
} from "./options.js";
export type { ProxyCallOptions, ProxyReply } from "./proxy-calls.js";
export type { Id, JsonInput, JsonObject, JsonObjectInput, JsonValue, Open } from "./values.js";
