import type { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { readCertificates } from "../crypto/certificates.js";
import { EgressPolicy } from "../egress/egress-policy.js";
import { ConfigError } from "./config-error.js";
import { type Environment, readOptional } from "./setting-values.js";

/** The operator's time-stamp authority (RFC 3161). */
export interface TimeStampConfig {
  readonly url: string;
  /** Certificates that its tokens must lead to. */
  readonly trusted: readonly X509Certificate[];
  /** The policy to ask for, an object identifier. Absent: the authority's own. */
  readonly policy: string | undefined;
  /** Allows the authority's address alone: naming it in its setting is the operator's allowance. */
  readonly egress: EgressPolicy;
}

/** @throws {ConfigError} */
export function readTimeStamps(environment: Environment): TimeStampConfig | undefined {
  const url = readOptional(environment, "AUDIT_TSA_URL");
  const caFile = readOptional(environment, "AUDIT_TSA_CA_FILE");
  const policy = readOptional(environment, "AUDIT_TSA_POLICY");
  if (url === undefined || caFile === undefined) {
    if (url ?? caFile ?? policy) {
      throw new ConfigError(
        "Set both CLOAKROOM_AUDIT_TSA_URL and CLOAKROOM_AUDIT_TSA_CA_FILE, or none of CLOAKROOM_AUDIT_TSA_*.",
      );
    }
    return undefined;
  }
  if (policy !== undefined && !/^[0-2](?:\.(?:0|[1-9]\d{0,8})){1,20}$/.test(policy)) {
    throw new ConfigError(
      `CLOAKROOM_AUDIT_TSA_POLICY must be an object identifier such as 1.3.6.1.4.1.311; it is "${policy}".`,
    );
  }
  return { url, policy, egress: allowing(url), trusted: readCa(caFile) };
}

function allowing(url: string): EgressPolicy {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isHttp = parsed?.protocol === "http:" || parsed?.protocol === "https:";
  const expected = "must be an address such as http://tsa.example.com/tsr, without user and password";
  if (!parsed || !isHttp || parsed.username !== "" || parsed.password !== "" || parsed.hash !== "") {
    throw new ConfigError(`CLOAKROOM_AUDIT_TSA_URL ${expected}.`);
  }
  const port = parsed.port || (parsed.protocol === "https:" ? "443" : "80");
  try {
    return new EgressPolicy({ allow: `${parsed.hostname}:${port}` });
  } catch {
    throw new ConfigError(`CLOAKROOM_AUDIT_TSA_URL ${expected}.`);
  }
}

function readCa(file: string): readonly X509Certificate[] {
  try {
    return readCertificates(readFileSync(file, "utf8"));
  } catch {
    throw new ConfigError(`CLOAKROOM_AUDIT_TSA_CA_FILE must be a file with certificates in PEM: ${file}.`);
  }
}
