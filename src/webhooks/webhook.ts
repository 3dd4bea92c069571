import { randomBytes } from "node:crypto";
import { type Authorship, readAuthorship } from "../access/authorship.js";
import type { Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { WebhookRow } from "../store/jobs/webhooks.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";

export interface WebhookProperties {
  readonly name: string;
  readonly url: string;
  readonly notifyEmail: string | undefined;
  readonly events: readonly string[];
}

/** A secret that is on its way out: requests are signed with it too until it expires. */
export interface FormerSecret {
  readonly secret: Sensitive<string>;
  readonly expiresAt: Date;
}

export interface WebhookSecrets {
  readonly secret: Sensitive<string>;
  readonly former: FormerSecret | undefined;
}

/** An address that events are sent to. */
export interface Webhook extends WebhookProperties, WebhookSecrets, Authorship {
  readonly id: Uuid;
  readonly isEnabled: boolean;
}

/** What marks a secret in the form of Standard Webhooks. The rest is base64. */
export const SECRET_PREFIX = "whsec_";
/** Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32;

export function newWebhookSecret(): Sensitive<string> {
  return new Sensitive(`${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString("base64")}`);
}

/** The secrets that sign a request at a time: the present one first. */
export function signingSecrets({ secret, former }: WebhookSecrets, at: Date): readonly Sensitive<string>[] {
  return former && former.expiresAt > at ? [secret, former.secret] : [secret];
}

export function webhookColumns(
  keys: TenantKeys,
  webhook: WebhookProperties & WebhookSecrets & Pick<Webhook, "id" | "createdBy">,
): Pick<WebhookRow, "id" | "events" | "definition"> {
  const { id, events, createdBy } = webhook;
  const definition = webhookRecord.seal(keys, { id, events: [...events], created_by: createdBy }, webhook);
  return { id, events, definition };
}

export const webhookRecord = sealedRecord({
  field: "webhook",
  bound: AAD_COLUMNS.webhooks,
  write: writeDefinition,
  read: ({ name, url, secret, notify_email: email, former }) => ({
    name: String(name),
    url: String(url),
    notifyEmail: typeof email === "string" ? email : undefined,
    secret: new Sensitive(String(secret)),
    former: readFormer(former),
  }),
});

function writeDefinition(webhook: Omit<WebhookProperties, "events"> & WebhookSecrets): JsonObject {
  const { name, url, notifyEmail, secret, former } = webhook;
  return {
    name,
    url,
    secret: secret.reveal(),
    ...(notifyEmail === undefined ? {} : { notify_email: notifyEmail }),
    ...(former ? { former: { secret: former.secret.reveal(), expires_at: former.expiresAt.toISOString() } } : {}),
  };
}

/** @throws {SealBroken} if no server wrote the row. */
export function openWebhook(keys: TenantKeys, row: WebhookRow): Webhook {
  return {
    ...webhookRecord.open(keys, row, row.definition),
    id: row.id,
    isEnabled: row.enabled,
    events: row.events,
    ...readAuthorship(row),
  };
}

function readFormer(written: Json | undefined): FormerSecret | undefined {
  if (!isJsonObject(written)) return undefined;
  return { secret: new Sensitive(String(written.secret)), expiresAt: new Date(String(written.expires_at)) };
}
