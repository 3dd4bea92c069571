import { type GuestErrors, type PublishedErrorName, publishedErrors } from "../guest-error.js";
import { errorTexts } from "./error-texts.js";

/**
 * Our own implementation of the error classes of `@basis-theory/basis-theory-reactor-formulas-sdk-js`: tenants' code
 * throws them to choose the status and the texts of the response.
 */
export class ReactorError extends Error {
  readonly status: number;
  readonly errors: GuestErrors;

  constructor(name: PublishedErrorName, errors: unknown) {
    const { status, detail } = publishedErrors[name];
    super(detail);
    this.name = name;
    this.status = status;
    this.errors = errorTexts(errors);
  }

  toRFC7807() {
    return { detail: this.message, status: this.status, errors: this.errors };
  }
}

/** A response made by the code: the caller gets status, headers and body unchanged. */
export class CustomHttpResponseError extends Error {
  readonly status: number;
  readonly headers: unknown;
  readonly body: unknown;

  constructor(response: unknown) {
    super("Custom HTTP response");
    this.name = "CustomHttpResponseError";
    const { status, headers, body } = Object(response);
    if (!Number.isInteger(status) || status < 100 || status > 599) {
      throw new RangeError("status must be a whole number from 100 to 599");
    }
    this.status = status;
    this.headers = headers ?? {};
    this.body = body;
  }

  toResponseBody() {
    return { status: this.status, headers: this.headers, body: this.body };
  }
}

function published(name: PublishedErrorName) {
  const type = class extends ReactorError {
    constructor(errors?: unknown) {
      super(name, errors);
    }
  };
  Object.defineProperty(type, "name", { value: name });
  return type;
}

/** The result of `require`. */
export const reactorErrors = {
  AuthenticationError: published("AuthenticationError"),
  AuthorizationError: published("AuthorizationError"),
  BadRequestError: published("BadRequestError"),
  CustomHttpResponseError,
  InvalidPaymentMethodError: published("InvalidPaymentMethodError"),
  InvalidReactorConfigurationError: published("InvalidReactorConfigurationError"),
  RateLimitError: published("RateLimitError"),
  ReactorError,
  ReactorRuntimeError: published("ReactorRuntimeError"),
  ServiceUnavailableError: published("ServiceUnavailableError"),
};
