import parseAddresses from "email-addresses";
import type { Sensitive } from "../crypto/sensitive.js";
import { ConfigError } from "./config-error.js";

/** The message does not repeat the value, which contains a password. */
export function readSmtpUrl(url: Sensitive<string> | undefined): Sensitive<string> | undefined {
  if (url === undefined) return undefined;
  const parsed = URL.canParse(url.reveal()) ? new URL(url.reveal()) : undefined;
  if ((parsed?.protocol === "smtp:" || parsed?.protocol === "smtps:") && parsed.hostname !== "") return url;
  throw new ConfigError("CLOAKROOM_SMTP_URL must be an address such as smtps://user:password@mail.example.com:465.");
}

/** The sender of messages, in the form of a From header. */
export function readMailFrom(text: string | undefined): string | undefined {
  if (text === undefined || (!/\p{Cc}/u.test(text) && parseAddresses({ input: text, startAt: "mailbox" }))) return text;
  throw new ConfigError(
    `CLOAKROOM_MAIL_FROM must be an address such as Cloakroom <vault@example.com>; it is "${text}".`,
  );
}
