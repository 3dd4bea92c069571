import { createHash, randomBytes, verify, X509Certificate } from "node:crypto";
import { type CertificateFields, chainsToTrustAnchor, fieldsOfCertificate } from "./certificate-path.js";
import { childrenOf, contentOf, type Der, NotDer, oidOf, readDer, TAG, writeDer, writeOid } from "./der.js";

const OID = {
  sha256: "2.16.840.1.101.3.4.2.1",
  signedData: "1.2.840.113549.1.7.2",
  tstInfo: "1.2.840.113549.1.9.16.1.4",
  contentType: "1.2.840.113549.1.9.3",
  messageDigest: "1.2.840.113549.1.9.4",
  signingCertificateV2: "1.2.840.113549.1.9.16.2.47",
  extendedKeyUsage: "2.5.29.37",
  subjectKeyIdentifier: "2.5.29.14",
  timeStamping: "1.3.6.1.5.5.7.3.8",
} as const;

const DIGESTS = new Map([
  [OID.sha256, "sha256"],
  ["2.16.840.1.101.3.4.2.2", "sha384"],
  ["2.16.840.1.101.3.4.2.3", "sha512"],
]);
/** By signature algorithm: the key's type, and the digest unless the signer names it. */
const SIGNATURES = new Map<string, readonly [keyType: "rsa" | "ec", digest: string | undefined]>([
  ["1.2.840.113549.1.1.1", ["rsa", undefined]],
  ["1.2.840.113549.1.1.11", ["rsa", "sha256"]],
  ["1.2.840.113549.1.1.12", ["rsa", "sha384"]],
  ["1.2.840.113549.1.1.13", ["rsa", "sha512"]],
  ["1.2.840.10045.4.3.2", ["ec", "sha256"]],
  ["1.2.840.10045.4.3.3", ["ec", "sha384"]],
  ["1.2.840.10045.4.3.4", ["ec", "sha512"]],
]);
const MIN_RSA_BITS = 2_048;
const KEY_IDENTIFIER = 0x80;

/** A time stamp that is not valid. The message says why, in fixed words. */
export class TimeStampInvalid extends Error {
  override readonly name = "TimeStampInvalid";
}

/** What a valid time stamp states about its imprint. */
export interface TimeStamp {
  /** When the authority saw the imprint. */
  readonly time: Date;
  readonly policy: string;
  readonly nonce: Buffer | undefined;
}

/** A request of RFC 3161. */
export interface TimeStampQuery {
  readonly bytes: Buffer;
  readonly imprint: Buffer;
  readonly nonce: Buffer;
  readonly policy: string | undefined;
}

/** @param imprint SHA-256 of what is to be stamped. */
export function timeStampQuery(imprint: Buffer, policy: string | undefined): TimeStampQuery {
  const nonce = randomBytes(16);
  // A positive integer without leading zeros.
  nonce[0] = ((nonce[0] ?? 0) & 0x3f) | 0x40;
  const bytes = writeDer(
    TAG.sequence,
    writeDer(TAG.integer, Buffer.from([1])),
    writeDer(TAG.sequence, writeDer(TAG.sequence, writeOid(OID.sha256)), writeDer(TAG.octets, imprint)),
    ...(policy === undefined ? [] : [writeOid(policy)]),
    writeDer(TAG.integer, nonce),
    // The certificate comes with the token: who verifies it later may not find it elsewhere.
    writeDer(TAG.boolean, Buffer.from([0xff])),
  );
  return { bytes, imprint, nonce, policy };
}

/**
 * The token of an authority's reply, verified against the request.
 * @throws {TimeStampInvalid}
 */
export function tokenOfReply(
  reply: Buffer,
  query: TimeStampQuery,
  trusted: readonly X509Certificate[],
): TimeStamp & { readonly token: Buffer } {
  const token = reading("reply", () => {
    const [status, token] = childrenOf(readDer(reply), TAG.sequence);
    const granted = contentOf(childrenOf(status, TAG.sequence)[0], TAG.integer);
    if (granted.length !== 1 || (granted[0] ?? 2) > 1 || !token) throw new TimeStampInvalid("the authority refuses");
    return token.bytes;
  });
  const stamp = verifyTimeStamp(token, query.imprint, trusted);
  if (!stamp.nonce?.equals(query.nonce)) throw new TimeStampInvalid("the nonce is that of another request");
  if (query.policy !== undefined && stamp.policy !== query.policy) {
    throw new TimeStampInvalid("the policy is not the requested one");
  }
  return { ...stamp, token };
}

/**
 * Verifies a token of RFC 3161 as of its own time: certificates expire before logs do.
 * @param trusted authorities whose certificates are trusted, or the signer's own.
 * @throws {TimeStampInvalid}
 */
export function verifyTimeStamp(token: Buffer, imprint: Buffer, trusted: readonly X509Certificate[]): TimeStamp {
  return reading("token", () => {
    const { content, certificates, signer } = readSignedData(token);
    const stamp = readContent(content, imprint);
    const candidates = [...certificates, ...trusted];
    const certificate = signerOf(signer, candidates);
    requireOnlyTimeStamping(fieldsOfCertificate(certificate));
    requireSignature(signer, content, certificate);
    if (!chainsToTrustAnchor(certificate, certificates, trusted, stamp.time)) {
      throw new TimeStampInvalid("the certificate does not lead to a trusted authority that was valid at that time");
    }
    return stamp;
  });
}

/** Certificates of a PEM file. @throws for a file without certificates, or with an unreadable one. */
export function readCertificates(pem: string): readonly X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new Error("the file has no certificate");
  return found.map((text) => new X509Certificate(text));
}

function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof NotDer) throw new TimeStampInvalid(`the ${what} is not one of RFC 3161`);
    throw error;
  }
}

interface Signer {
  readonly id: Der;
  readonly digest: string;
  readonly signature: Buffer;
  readonly algorithm: string;
  /** By object identifier. */
  readonly attributes: ReadonlyMap<string, Der>;
  /** The signed bytes. */
  readonly signed: Buffer;
}

function readSignedData(token: Buffer) {
  const [type, wrapped] = childrenOf(readDer(token), TAG.sequence);
  if (oidOf(type) !== OID.signedData) throw new NotDer("signed data are expected");
  const [data] = childrenOf(wrapped, TAG.context0);
  const [, , encapsulated, ...rest] = childrenOf(data, TAG.sequence);
  const [contentType, eContent] = childrenOf(encapsulated, TAG.sequence);
  if (oidOf(contentType) !== OID.tstInfo) throw new NotDer("a time stamp is expected");
  const content = contentOf(childrenOf(eContent, TAG.context0)[0], TAG.octets);
  const list = rest.find(({ tag }) => tag === TAG.context0);
  const signers = childrenOf(rest.at(-1), TAG.set);
  if (signers.length !== 1) throw new TimeStampInvalid("the token does not have exactly one signature");
  return {
    content,
    certificates: list ? childrenOf(list, TAG.context0).flatMap(readCertificate) : [],
    signer: readSigner(signers[0]),
  };
}

/** Others than X.509 certificates are passed over. */
function readCertificate({ tag, bytes }: Der): readonly X509Certificate[] {
  if (tag !== TAG.sequence) return [];
  try {
    return [new X509Certificate(bytes)];
  } catch {
    throw new NotDer("a certificate is expected");
  }
}

function readSigner(signer: Der | undefined): Signer {
  const [, id, digestAlgorithm, attributes, algorithm, signature] = childrenOf(signer, TAG.sequence);
  const pairs = childrenOf(attributes, TAG.context0).map((attribute): [string, Der] => {
    const [type, values] = childrenOf(attribute, TAG.sequence);
    const [value, ...more] = childrenOf(values, TAG.set);
    if (!value || more.length > 0) throw new NotDer("an attribute has one value");
    return [oidOf(type), value];
  });
  const byType = new Map(pairs);
  if (!id || !attributes || byType.size !== pairs.length) throw new NotDer("attributes are wrong");
  return {
    ...{ id, digest: digestOf(digestAlgorithm), attributes: byType, signature: contentOf(signature, TAG.octets) },
    algorithm: oidOf(childrenOf(algorithm, TAG.sequence)[0]),
    // The signature covers them as a SET (RFC 5652, section 5.4).
    signed: Buffer.concat([Buffer.from([TAG.set]), attributes.bytes.subarray(1)]),
  };
}

function digestOf(algorithm: Der | undefined): string {
  const digest = DIGESTS.get(oidOf(childrenOf(algorithm, TAG.sequence)[0]));
  if (digest === undefined) throw new TimeStampInvalid("the digest is not SHA-256, SHA-384 or SHA-512");
  return digest;
}

function readContent(content: Buffer, imprint: Buffer): TimeStamp {
  const [, policy, messageImprint, , time, ...optional] = childrenOf(readDer(content), TAG.sequence);
  const [algorithm, hashed] = childrenOf(messageImprint, TAG.sequence);
  if (digestOf(algorithm) !== "sha256" || !contentOf(hashed, TAG.octets).equals(imprint)) {
    throw new TimeStampInvalid("the imprint is that of something else");
  }
  const nonce = optional.find(({ tag }) => tag === TAG.integer)?.content;
  return { policy: oidOf(policy), time: readTime(contentOf(time, TAG.generalizedTime).toString("latin1")), nonce };
}

function readTime(text: string): Date {
  const [, year, month, day, hour, minute, second, fraction = ""] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{1,9})?Z$/.exec(text) ?? [];
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${fraction.slice(0, 4)}Z`);
  if (Number.isNaN(time.getTime())) throw new NotDer("a time is expected");
  return time;
}

/** The certificate that the signed attribute names (ESSCertIDv2, RFC 5816), which is that of the signer. */
function signerOf({ id, attributes }: Signer, candidates: readonly X509Certificate[]): X509Certificate {
  const attribute = attributes.get(OID.signingCertificateV2);
  if (!attribute) throw new TimeStampInvalid("the signature does not name its certificate by ESSCertIDv2");
  const [list] = childrenOf(attribute, TAG.sequence);
  const parts = childrenOf(childrenOf(list, TAG.sequence)[0], TAG.sequence);
  const [algorithm, hash] = parts[0]?.tag === TAG.sequence ? parts : [undefined, parts[0]];
  const digest = algorithm ? digestOf(algorithm) : "sha256";
  const wanted = contentOf(hash, TAG.octets);
  const certificate = candidates.find(({ raw }) => createHash(digest).update(raw).digest().equals(wanted));
  if (!certificate) throw new TimeStampInvalid("the certificate of the signature is missing");
  if (!isNamedBy(fieldsOfCertificate(certificate), id))
    throw new TimeStampInvalid("the signature names another certificate");
  return certificate;
}

function isNamedBy({ issuer, serial, extensions }: CertificateFields, id: Der): boolean {
  if (id.tag === KEY_IDENTIFIER) {
    const own = extensions.get(OID.subjectKeyIdentifier);
    return own?.value.content.equals(id.content) ?? false;
  }
  const [name, number] = childrenOf(id, TAG.sequence);
  return name?.bytes.equals(issuer) === true && contentOf(number, TAG.integer).equals(serial);
}

/** RFC 3161, section 2.3. */
function requireOnlyTimeStamping({ extensions }: CertificateFields): void {
  const usage = extensions.get(OID.extendedKeyUsage);
  const purposes = usage ? childrenOf(usage.value, TAG.sequence).map(oidOf) : [];
  if (!usage?.isCritical || purposes.length !== 1 || purposes[0] !== OID.timeStamping) {
    throw new TimeStampInvalid("the certificate is not one for time stamps alone");
  }
}

function requireSignature(signer: Signer, content: Buffer, { publicKey }: X509Certificate): void {
  const { attributes, digest, algorithm, signed, signature } = signer;
  const type = attributes.get(OID.contentType);
  const expected = createHash(digest).update(content).digest();
  const given = contentOf(attributes.get(OID.messageDigest), TAG.octets);
  if (oidOf(type) !== OID.tstInfo || !given.equals(expected)) {
    throw new TimeStampInvalid("the signature covers something else");
  }
  const [keyType, named] = SIGNATURES.get(algorithm) ?? [];
  const { asymmetricKeyType, asymmetricKeyDetails } = publicKey;
  if (keyType === undefined || asymmetricKeyType !== keyType) {
    throw new TimeStampInvalid("the signature is neither RSA (PKCS #1) nor ECDSA");
  }
  if (keyType === "rsa" && (asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS) {
    throw new TimeStampInvalid(`the key has fewer than ${MIN_RSA_BITS} bits`);
  }
  if (!verify(named ?? digest, signed, publicKey, signature)) throw new TimeStampInvalid("the signature is wrong");
}
