import type { Json } from "../base/json.js";
import type { SourcePosition } from "./source-position.js";

/** Statuses and details of the published error classes for tenant code, by the name of the class. */
export const publishedErrors = {
  AuthenticationError: { status: 401, detail: "Authentication Failed" },
  AuthorizationError: { status: 403, detail: "Forbidden" },
  BadRequestError: { status: 400, detail: "Bad Request" },
  InvalidPaymentMethodError: { status: 402, detail: "Invalid Payment Method" },
  InvalidReactorConfigurationError: { status: 400, detail: "Invalid Reactor Configuration" },
  RateLimitError: { status: 429, detail: "Rate Limit Exceeded" },
  ReactorRuntimeError: { status: 500, detail: "Reactor Runtime Error" },
  ServiceUnavailableError: { status: 503, detail: "Service Unavailable" },
} as const;
export type PublishedErrorName = keyof typeof publishedErrors;

/** Texts by field, as the published classes normalise their arguments. */
export type GuestErrors = Readonly<Record<string, readonly string[]>>;

/** A value thrown by tenants' code. */
export type GuestError =
  /** One of the published classes. */
  | {
      readonly type: "published";
      readonly name: PublishedErrorName;
      readonly status: number;
      readonly detail: string;
      readonly errors: GuestErrors;
      readonly position: SourcePosition | undefined;
    }
  /** A whole response, passed on unchanged. */
  | {
      readonly type: "custom_http_response";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Json;
    }
  /** Anything else: callers see a ReactorRuntimeError with these errors. */
  | {
      readonly type: "other";
      readonly status: 500;
      readonly detail: string;
      readonly errors: GuestErrors;
      /** Where the error was created; undefined without a stack in the tenant's code. */
      readonly position: SourcePosition | undefined;
    };
