import { optional, secret, whole } from "../setting.js";

export const PEOPLE = {
  SIGN_IN_IDLE_MINUTES: whole(
    15,
    [1, 15],
    "Minutes without a request after which a person's sign-in ends. PCI DSS 8.2.8 allows at most 15.",
  ),
  OPENID_ISSUER: optional(
    "`https` URL",
    "people sign in by mailed links only",
    "OpenID Connect issuer at which people sign in. Needs `CLOAKROOM_OPENID_CLIENT_ID` and `CLOAKROOM_OPENID_CLIENT_SECRET`.",
  ),
  OPENID_CLIENT_ID: optional("text", "no issuer", "Client id of this server at the issuer."),
  OPENID_CLIENT_SECRET: secret("text", "no issuer", "Client secret of this server at the issuer."),
  OPENID_SECOND_FACTOR: optional(
    "`amr=value` or `acr=value`, separated by commas",
    "only a passkey is a second factor",
    "Values by which the issuer says that a person proved a second factor, such as `amr=mfa`. One of them suffices.",
  ),
};
