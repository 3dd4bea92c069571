import { optional, secret } from "../setting.js";

export const ROOT_KEY = {
  ROOT_KEY_FILE: optional(
    "file",
    "`root.key` in the data directory",
    "File that holds the root key. Unused with Transit or KMS.",
  ),
  TRANSIT_URL: optional(
    "`https` URL",
    "the root key is in its file",
    "Root key in Vault or OpenBao Transit, as the key's API address: `https://vault.example.com:8200/v1/transit/keys/cloakroom`. `http` is accepted on the same machine only.",
  ),
  TRANSIT_TOKEN: secret("token", "AppRole", "Token for Transit."),
  TRANSIT_ROLE_ID: optional("AppRole id", "token", "AppRole to log in to Transit with, in place of a token."),
  TRANSIT_SECRET_ID: secret("AppRole secret", "token", "Secret of that AppRole."),
  TRANSIT_NAMESPACE: optional("namespace", "none", "Namespace of the Transit engine."),
  TRANSIT_CA_FILE: optional("file", "the system's certificates", "Certificates to check the Transit server by, PEM."),
  KMS_KEY_ID: optional(
    "key id, ARN or alias",
    "the root key is in its file",
    "Root key in AWS KMS. The AWS SDK finds region, credentials and endpoint as it always does.",
  ),
};
