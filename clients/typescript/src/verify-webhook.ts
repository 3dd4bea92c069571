/** An event of a vault, as webhooks get it. */
export interface WebhookEvent {
  /** The same in every attempt: process each id once. */
  readonly id: string;
  /** Such as `token.created`. */
  readonly type: string;
  readonly timestamp: string;
  readonly tenant_id: string;
  readonly trace_id?: string;
  /** The entity under its kind, and the actor. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** A request that no vault signed with the secret, or that is too old. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
}

/** The headers of a request: those of Node, a `Headers`, or a plain object. Names in lower case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyWebhookOptions {
  /** Seconds by which the time of a request may differ from the clock here. Default: 300. */
  readonly toleranceSeconds?: number;
  /** The time now, for tests. Default: the clock. */
  readonly now?: Date;
}

/** Neither Node's types nor those of browsers are certain to name it. */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const PREFIX = "whsec_";
const TOLERANCE_SECONDS = 300;

/**
 * Verifies a request to a webhook by its Standard Webhooks signature, and returns its event. During a rotation one of the
 * two signatures suffices.
 * @param body the body exactly as it arrived: parsed and written again, it has another signature.
 * @param secret of the webhook, as the response that made it shows it.
 * @throws {WebhookVerificationError}
 */
export async function verifyWebhook(
  body: string | Uint8Array<ArrayBuffer>,
  headers: WebhookHeaders,
  secret: string,
  { toleranceSeconds = TOLERANCE_SECONDS, now = new Date() }: VerifyWebhookOptions = {},
): Promise<WebhookEvent> {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const id = headerNamed(headers, "webhook-id");
  const seconds = headerNamed(headers, "webhook-timestamp");
  const given = headerNamed(headers, "webhook-signature").split(" ");
  if (!/^\d{1,12}$/.test(seconds)) throw new WebhookVerificationError("webhook-timestamp is not a time.");
  const key = await importKey(secret);
  const signed = new TextEncoder().encode(`${id}.${seconds}.${text}`);
  const checks = given.map((signature) => fits(key, signature, signed));
  if (!(await Promise.all(checks)).includes(true)) {
    throw new WebhookVerificationError("No signature of the request fits the secret.");
  }
  if (Math.abs(now.getTime() / 1_000 - Number(seconds)) > toleranceSeconds) {
    throw new WebhookVerificationError("The request is too old, or from the future.");
  }
  return eventIn(text);
}

function headerNamed(headers: WebhookHeaders, name: string): string {
  const value = isReadable(headers) ? headers.get(name) : headers[name];
  if (typeof value === "string" && value !== "") return value;
  throw new WebhookVerificationError(`The request has no header ${name}.`);
}

function isReadable(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === "function";
}

async function importKey(secret: string): Promise<HmacKey> {
  const bytes = bytesOf(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (!bytes || bytes.length === 0) throw new WebhookVerificationError("The secret is not base64.");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

async function fits(key: HmacKey, signature: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const bytes = signature.startsWith("v1,") ? bytesOf(signature.slice("v1,".length)) : undefined;
  return bytes !== undefined && crypto.subtle.verify("HMAC", key, bytes, signed);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function eventIn(text: string): WebhookEvent {
  const { event }: { event?: WebhookEvent } = JSON.parse(text);
  if (event === undefined) throw new WebhookVerificationError("The body has no event.");
  return event;
}
