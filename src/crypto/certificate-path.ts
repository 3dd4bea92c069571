import type { X509Certificate } from "node:crypto";
import { BasicConstraints, Certificate, id_ce_basicConstraints, type TBSCertificate } from "@peculiar/asn1-x509";
import { rememberEach } from "../base/remember-each.js";
import { readAsn1 } from "./asn1.js";

const MAX_CERTIFICATES = 8;

export interface CertificateExtension {
  readonly isCritical: boolean;
  readonly value: ArrayBuffer;
}

/**
 * What a certificate says beside what node:crypto reads. Reading one takes longer than verifying its signature.
 * @throws {NotAsn1}
 */
export const certificateFields = rememberEach(
  (certificate: X509Certificate): TBSCertificate => readAsn1(certificate.raw, Certificate).tbsCertificate,
);

/** An extension of a certificate. @throws {NotAsn1} */
export function certificateExtension(certificate: X509Certificate, id: string): CertificateExtension | undefined {
  const found = certificateFields(certificate).extensions?.find(({ extnID }) => extnID === id);
  return found && { isCritical: found.critical, value: found.extnValue.buffer };
}

export interface KnownCertificates {
  readonly trusted: readonly X509Certificate[];
  /** Certificates that may lie between. */
  readonly others: readonly X509Certificate[];
}

/**
 * Whether a certificate leads to a trusted one: each issuer is an authority that may issue it, signed it, and was valid
 * at that time. Revocation is not looked up.
 */
export function chainsToTrustAnchor(
  certificate: X509Certificate,
  { others, trusted }: KnownCertificates,
  at: Date,
  below = 0,
): boolean {
  if (!isValidAt(certificate, at)) return false;
  if (trusted.some(({ fingerprint256 }) => fingerprint256 === certificate.fingerprint256)) return true;
  if (below === MAX_CERTIFICATES) return false;
  return [...trusted, ...others].some(
    (issuer) =>
      issuer.fingerprint256 !== certificate.fingerprint256 &&
      issuer.ca &&
      certificate.checkIssued(issuer) &&
      certificate.verify(issuer.publicKey) &&
      // The first certificate of a path is no authority, and does not count.
      allowedBelow(issuer) >= below &&
      chainsToTrustAnchor(issuer, { others, trusted }, at, below + 1),
  );
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, at: Date): boolean {
  return validFromDate <= at && at <= validToDate;
}

/** How many authorities may lie between this one and the certificate at the end. */
function allowedBelow(issuer: X509Certificate): number {
  const constraints = certificateExtension(issuer, id_ce_basicConstraints);
  const most = constraints && readAsn1(constraints.value, BasicConstraints).pathLenConstraint;
  return most ?? Number.POSITIVE_INFINITY;
}
