import type { Sensitive } from "../crypto/sensitive.js";
import { ConfigError } from "./environment.js";

/** The operator's registration at an OpenID Connect issuer. */
export interface OpenIdConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Sensitive<string>;
}

/** @throws {ConfigError} if some of the three are missing, or the issuer is at no https address. */
export function readOpenId(
  issuer: string | undefined,
  clientId: string | undefined,
  clientSecret: Sensitive<string> | undefined,
): OpenIdConfig | undefined {
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    throw new ConfigError(
      "Set all of CLOAKROOM_OPENID_ISSUER, CLOAKROOM_OPENID_CLIENT_ID and CLOAKROOM_OPENID_CLIENT_SECRET, or none.",
    );
  }
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url?.hostname ?? "");
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback);
  if (isSafe && url?.search === "" && url.hash === "") return { issuer, clientId, clientSecret };
  throw new ConfigError(
    `CLOAKROOM_OPENID_ISSUER must be an https address such as https://id.example.com; it is "${issuer}".`,
  );
}
