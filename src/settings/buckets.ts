import type { Sensitive } from "../crypto/sensitive.js";
import { ConfigError } from "./config-error.js";
import { type Environment, readOptional, readSecret, readSettingText } from "./setting-values.js";

export interface BucketSettings {
  /** Without a slash at the end. */
  readonly endpoint: string;
  readonly region: string;
  /** Absent: no bucket can be used. */
  readonly credentials: BucketCredentials | undefined;
}

export interface BucketCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: Sensitive<string>;
  readonly sessionToken: Sensitive<string> | undefined;
}

/** @throws {ConfigError} */
export function readBuckets(environment: Environment): BucketSettings {
  const region = readSettingText(environment, "S3_REGION");
  if (!/^[a-z0-9-]+$/.test(region)) {
    throw new ConfigError(`CLOAKROOM_S3_REGION must be a region such as eu-central-1; it is "${region}".`);
  }
  const accessKeyId = readOptional(environment, "S3_ACCESS_KEY_ID");
  const secretAccessKey = readSecret(environment, "CLOAKROOM_S3_SECRET_ACCESS_KEY");
  const sessionToken = readSecret(environment, "CLOAKROOM_S3_SESSION_TOKEN");
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    throw new ConfigError("Set both CLOAKROOM_S3_ACCESS_KEY_ID and CLOAKROOM_S3_SECRET_ACCESS_KEY, or neither.");
  }
  return {
    endpoint: readEndpoint(readOptional(environment, "S3_ENDPOINT")) ?? `https://s3.${region}.amazonaws.com`,
    region,
    credentials: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey, sessionToken } : undefined,
  };
}

function readEndpoint(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password;
  if (!isPlain) {
    throw new ConfigError("CLOAKROOM_S3_ENDPOINT must be an http or https URL without a login, query or fragment.");
  }
  return url.href.replace(/\/+$/, "");
}
