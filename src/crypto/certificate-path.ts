import type { X509Certificate } from "node:crypto";
import { childrenOf, contentOf, type Der, oidOf, readDer, TAG } from "./der.js";

const BASIC_CONSTRAINTS = "2.5.29.19";
const MAX_CERTIFICATES = 8;
/** The tag of a certificate's extensions. */
const EXTENSIONS = 0xa3;

export interface CertificateExtension {
  readonly isCritical: boolean;
  readonly value: Der;
}

/** What a certificate says beside what node:crypto reads. */
export interface CertificateFields {
  /** The name of the issuer, DER. */
  readonly issuer: Buffer;
  readonly serial: Buffer;
  readonly extensions: ReadonlyMap<string, CertificateExtension>;
}

/** @throws {NotDer} */
export function fieldsOfCertificate(certificate: X509Certificate): CertificateFields {
  const [body] = childrenOf(readDer(certificate.raw), TAG.sequence);
  const fields = childrenOf(body, TAG.sequence);
  // The version comes first, unless it is 1.
  const [serial, , issuer] = fields[0]?.tag === TAG.context0 ? fields.slice(1) : fields;
  const list = fields.find(({ tag }) => tag === EXTENSIONS);
  const [extensions] = list ? childrenOf(list, EXTENSIONS) : [];
  return {
    issuer: issuer?.bytes ?? Buffer.alloc(0),
    serial: contentOf(serial, TAG.integer),
    extensions: new Map((extensions ? childrenOf(extensions, TAG.sequence) : []).map(readExtension)),
  };
}

function readExtension(extension: Der): [string, CertificateExtension] {
  const [id, ...rest] = childrenOf(extension, TAG.sequence);
  const isCritical = rest[0]?.tag === TAG.boolean && rest[0].content[0] === 0xff;
  return [oidOf(id), { isCritical, value: readDer(contentOf(rest.at(-1), TAG.octets)) }];
}

/**
 * Whether a certificate leads to a trusted one: each issuer is an authority that may issue it, signed it, and was valid
 * at that time. Revocation is not looked up.
 * @param others certificates that may lie between.
 */
export function chainsToTrustAnchor(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  trusted: readonly X509Certificate[],
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
      chainsToTrustAnchor(issuer, others, trusted, at, below + 1),
  );
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, at: Date): boolean {
  return validFromDate <= at && at <= validToDate;
}

/** How many authorities may lie between this one and the certificate at the end. */
function allowedBelow(issuer: X509Certificate): number {
  const constraints = fieldsOfCertificate(issuer).extensions.get(BASIC_CONSTRAINTS);
  const most = constraints && childrenOf(constraints.value, TAG.sequence).find(({ tag }) => tag === TAG.integer);
  return most ? (most.content.at(-1) ?? 0) : Number.POSITIVE_INFINITY;
}
