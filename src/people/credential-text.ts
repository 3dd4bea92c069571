import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { invalid } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";

/** @throws {Fault} validation_failed for a text that is not the JSON of a new credential. */
export function readRegistration(text: string): RegistrationResponseJSON {
  const { id, response } = readParts(text);
  const { clientDataJSON, attestationObject, transports } = response;
  return {
    ...publicKeyCredential(id),
    response: {
      clientDataJSON: base64url(clientDataJSON),
      attestationObject: base64url(attestationObject),
      transports: Array.isArray(transports) ? transports.map(String).slice(0, 8) : [],
    },
  };
}

/** @throws {Fault} validation_failed for a text that is not the JSON of a proof by a credential. */
export function readAuthentication(text: string): AuthenticationResponseJSON {
  const { id, response } = readParts(text);
  const { clientDataJSON, authenticatorData, signature } = response;
  return {
    ...publicKeyCredential(id),
    response: {
      clientDataJSON: base64url(clientDataJSON),
      authenticatorData: base64url(authenticatorData),
      signature: base64url(signature),
    },
  };
}

function publicKeyCredential(id: string) {
  return { id, rawId: id, type: "public-key", clientExtensionResults: {} } as const;
}

function readParts(text: string): { readonly id: string; readonly response: JsonObject } {
  const parsed = parse(text);
  const response = isJsonObject(parsed) ? parsed.response : undefined;
  if (!isJsonObject(parsed) || !isJsonObject(response) || parsed.type !== "public-key") throw malformed();
  return { id: base64url(parsed.id), response };
}

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed();
  }
}

function base64url(part: Json | undefined): string {
  if (typeof part === "string" && /^[A-Za-z0-9_-]{1,8000}$/.test(part)) return part;
  throw malformed();
}

function malformed() {
  return invalid("credential", "must be the JSON text of a public-key credential, as the browser returns it");
}
