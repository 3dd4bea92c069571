import {
  hashOfSigned,
  isLogSignature,
  logSigningKey,
  readLogPublicKey,
  signLogText,
} from "../../crypto/log-signing.js";
import { SealBroken } from "../../crypto/sealed.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import { type NewSeal, readLastSigned, type SealRow } from "../../store/audit/audit-seals.js";
import type { Transaction } from "../../store/transactions/transaction.js";
import type { Chain } from "./chain.js";
import { NO_BODY, readBody, type SealBody, writeBody } from "./seal-body.js";

/** An entry of a chain with its MAC, before it is signed. */
export type UnsignedSeal = Omit<NewSeal, "signed_body" | "signature">;

/** The entry as it is stored in the vault's own chain, which no auditor reads. */
export function unsigned(seal: UnsignedSeal): NewSeal {
  return { ...seal, signed_body: null, signature: null };
}

/** The last signed text of a chain; undefined before its first signature. */
export async function lastSignedBody(tx: Transaction, { last }: Pick<Chain, "last">): Promise<string | undefined> {
  return last?.signed_body ?? (last ? ((await tx.query(readLastSigned, "last")) ?? undefined) : undefined);
}

/** @param before the last signed text of the chain. */
export async function signSeals(
  keys: TenantKeys,
  seals: readonly UnsignedSeal[],
  { before, at }: { readonly before: string | undefined; readonly at: Date },
): Promise<NewSeal[]> {
  const key = logSigningKey(keys.audit, keys.tenantId);
  let previous = before;
  const bodies = seals.map((seal) => {
    const body = writeBody({
      tenantId: keys.tenantId,
      ...sealContent(seal),
      ...linkTo(previous),
      signedAt: at,
      key: key.fingerprint,
    });
    previous = body;
    return body;
  });
  const signatures = await Promise.all(bodies.map((body) => signLogText(key, body)));
  return seals.map((seal, index) => ({
    ...seal,
    signed_body: bodies[index] ?? null,
    signature: signatures[index] ?? null,
  }));
}

/** What the body of an entry says of its seal. */
export function sealContent(seal: UnsignedSeal) {
  return {
    number: seal.number,
    kind: seal.kind,
    window: seal.window_start,
    rows: seal.row_count,
    digest: seal.digest.toString("hex"),
    mac: seal.mac.toString("hex"),
    after: seal.previous.toString("hex"),
  };
}

function linkTo(before: string | undefined): Pick<SealBody, "previous"> {
  const body = before === undefined ? undefined : readBody(before);
  return {
    previous: { number: body?.number ?? 0, hash: before === undefined ? NO_BODY : hashOfSigned(before) },
  };
}

export function isOwnSignature(keys: TenantKeys, seal: SealRow): boolean {
  const { signed_body, signature, key_version } = seal;
  const body = signed_body === null ? undefined : readBody(signed_body);
  if (!signed_body || !body || !signature) return false;
  try {
    const key = logSigningKey(keys.audit, keys.tenantId, key_version);
    const { previous, signedAt } = body;
    const expected = writeBody({
      tenantId: keys.tenantId,
      ...sealContent(seal),
      previous,
      signedAt,
      key: key.fingerprint,
    });
    const publicKey = readLogPublicKey(key.publicKey);
    return expected === signed_body && publicKey !== undefined && isLogSignature(publicKey, signed_body, signature);
  } catch (error) {
    if (error instanceof SealBroken) return false;
    throw error;
  }
}
