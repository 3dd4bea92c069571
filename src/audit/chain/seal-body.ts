import { isTenantId, type TenantId } from "../../base/ids.js";
import { SEAL_FORMAT } from "../../crypto/log-seal.js";

/**
 * What a signature of the log states: one entry of a tenant's chain, and its position. A text of named fields in a fixed
 * order, without control characters: syslog servers change those. Verification checks the signature over the bytes before it reads them.
 */
export interface SealBody {
  readonly tenantId: TenantId;
  readonly number: number;
  /** `minute`, `set_back` or `restart`. */
  readonly kind: string;
  /** The first moment of the minute, or the time of the mark. */
  readonly window: Date;
  /** Rows of the minute, or the count of the mark. */
  readonly rows: number;
  /** In hexadecimal, as all hashes here. */
  readonly digest: string;
  /** The entry's own HMAC, which the vault checks. */
  readonly mac: string;
  /** The HMAC of the entry before. */
  readonly after: string;
  /** The signed entry before: its number and the hash of its text. Number 0: none. */
  readonly previous: { readonly number: number; readonly hash: string };
  readonly signedAt: Date;
  /** The fingerprint of the signing key. */
  readonly key: string;
}

/** The version covers the layout of the digest over rows too. */
const TITLE = `cloakroom/audit-seal/${SEAL_FORMAT}`;
/** The hash before the first signed entry. */
export const NO_BODY = "0".repeat(64);

export function writeBody(body: SealBody): string {
  return [
    TITLE,
    `tenant ${body.tenantId}`,
    `number ${body.number}`,
    `kind ${body.kind}`,
    `window ${body.window.toISOString()}`,
    `rows ${body.rows}`,
    `digest ${body.digest}`,
    `mac ${body.mac}`,
    `after ${body.after}`,
    `previous ${body.previous.number} ${body.previous.hash}`,
    `signed ${body.signedAt.toISOString()}`,
    `key ${body.key}`,
  ].join(" ");
}

const FIELDS = new RegExp(
  [
    `^${TITLE}`,
    "tenant (?<tenant>[0-9a-f-]{36})",
    "number (?<number>[1-9][0-9]{0,14})",
    "kind (?<kind>minute|set_back|restart)",
    "window (?<window>[0-9TZ:.-]{24})",
    "rows (?<rows>[0-9]{1,15})",
    "digest (?<digest>[0-9a-f]*)",
    "mac (?<mac>[0-9a-f]{64})",
    "after (?<after>[0-9a-f]{64})",
    "previous (?<previous>[0-9]{1,15}) (?<hash>[0-9a-f]{64})",
    "signed (?<signed>[0-9TZ:.-]{24})",
    "key (?<key>[0-9a-f]{64})$",
  ].join(" "),
);

/** Reads a signed text; undefined if it is not exactly what {@link writeBody} writes. */
export function readBody(text: string): SealBody | undefined {
  const fields = FIELDS.exec(text)?.groups;
  const { tenant = "", kind = "", digest = "", mac = "", after = "", hash = "", key = "" } = fields ?? {};
  const [window, signedAt] = [new Date(fields?.window ?? ""), new Date(fields?.signed ?? "")];
  if (!fields || !isTenantId(tenant)) return undefined;
  if (Number.isNaN(window.getTime()) || Number.isNaN(signedAt.getTime())) return undefined;
  const body = {
    tenantId: tenant,
    number: Number(fields.number),
    kind,
    window,
    rows: Number(fields.rows),
    digest,
    mac,
    after,
    signedAt,
    key,
    previous: { number: Number(fields.previous), hash },
  };
  return writeBody(body) === text ? body : undefined;
}

/** The version of a signed text's format if it is not the one of this program. */
export function otherFormat(text: string): number | undefined {
  const [, version] = /^cloakroom\/audit-seal\/([0-9]{1,9}) /.exec(text) ?? [];
  return version === undefined || Number(version) === SEAL_FORMAT ? undefined : Number(version);
}
