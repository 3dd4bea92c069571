import { optional, secret } from "../setting.js";

export const OUTGOING = {
  EGRESS_ALLOW: optional(
    "CIDRs and hosts, separated by commas",
    "none",
    "Destinations that proxies, tenants' code and callbacks may reach although they are not public.",
  ),
  EGRESS_DENY: optional(
    "CIDRs and hosts, separated by commas",
    "none",
    "Destinations that they may not reach although they are public.",
  ),
  PAYMENT_ADDRESSES: optional(
    "`formula=URL`, separated by commas",
    "the services' public addresses",
    "Addresses of payment services, for tests against stand-ins. Cards go there: set it in tests only.",
  ),
  SMTP_URL: secret(
    "`smtp://` or `smtps://` URL",
    "mails are written to files in the data directory",
    "Mail server that sends invitations.",
  ),
  MAIL_FROM: optional("mail address", "`no-reply` at the host of the public URL", "Sender of mails."),
};
