import { Fault } from "../base/fault.js";

/**
 * The fault for a person without the second factor that an operation needs.
 * @param what the operation, as the beginning of a sentence, such as `RevealService/RevealToken`.
 */
export function secondFactorRequired(what: string): Fault {
  const how = "confirm with a passkey, or sign in again at an issuer that proves one";
  return new Fault("second_factor_required", `${what} needs a second factor: ${how}.`);
}
