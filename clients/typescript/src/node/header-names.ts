import { invalidInput } from "../errors.js";

/** RFC 9110, 5.6.2. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** RFC 9113, 8.2.2, and `expect`, which fetch has not. */
const REFUSED = /^(?:connection|expect|keep-alive|proxy-connection|transfer-encoding|upgrade|http2-settings)$/;

/** @throws {AttemptError} for headers that no request can have. Browsers leave them out, and Node's errors do not name them. */
export function checkHeaderNames(headers: Readonly<Record<string, string>>): void {
  for (const name in headers) {
    if (!NAME.test(name)) throw invalidInput(name, "is not a valid name of a header");
    if (REFUSED.test(name)) throw invalidInput(name, "is a header that no call can have");
  }
}
