import { createHash, randomBytes, verify, X509Certificate } from "node:crypto";
import {
  ContentInfo,
  EncapsulatedContentInfo,
  id_contentType,
  id_messageDigest,
  id_signedData,
  SignerInfo,
} from "@peculiar/asn1-cms";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import { id_ct_tstInfo, MessageImprint, TimeStampReq, TimeStampResp, TSTInfo } from "@peculiar/asn1-tsp";
import {
  AlgorithmIdentifier,
  ExtendedKeyUsage,
  id_ce_extKeyUsage,
  id_ce_subjectKeyIdentifier,
  id_kp_timeStamping,
  SubjectKeyIdentifier,
} from "@peculiar/asn1-x509";
import { type BaseBlock, ObjectIdentifier } from "asn1js";
import { asn1Members, derBytes, NotAsn1, readAsn1 } from "./asn1.js";
import { certificateExtension, certificateFields, chainsToTrustAnchor } from "./certificate-path.js";
import { TimeStampInvalid } from "./time-stamp-invalid.js";

const SHA_256 = "2.16.840.1.101.3.4.2.1";
const SIGNING_CERTIFICATE_V2 = "1.2.840.113549.1.9.16.2.47";

const DIGESTS = new Map([
  [SHA_256, "sha256"],
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
const OCTET_STRING = 4;
/** The class of tags whose meaning their place gives. */
const CONTEXT = 3;
/** The whole tag of a SET. */
const SET = 0x31;
/** RFC 3161, section 2.4.2: with seconds, in UTC. */
const TIME = /^\d{14}(\.\d{1,9})?Z$/;

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
  const request = new TimeStampReq({
    messageImprint: new MessageImprint({
      hashAlgorithm: new AlgorithmIdentifier({ algorithm: SHA_256 }),
      hashedMessage: new OctetString(imprint),
    }),
    nonce: new Uint8Array(nonce).buffer,
    // The certificate comes with the token: who verifies it later may not find it elsewhere.
    certReq: true,
  });
  if (policy !== undefined) request.reqPolicy = policy;
  return { bytes: Buffer.from(AsnConvert.serialize(request)), imprint, nonce, policy };
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
    const { status, timeStampToken } = readAsn1(reply, TimeStampResp);
    // 0: granted, 1: granted with changes.
    if (status.status > 1 || !timeStampToken) throw new TimeStampInvalid("the authority refuses");
    return derBytes(asn1Members(reply)[1]);
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
    const { content, certificates, signer, signed } = readToken(token);
    const stamp = readContent(content, imprint);
    const certificate = certificateOf(signer, [...certificates, ...trusted]);
    requireOnlyTimeStamping(certificate);
    requireContent(signer, content);
    requireSignature(signer, signed, certificate);
    if (!chainsToTrustAnchor(certificate, { others: certificates, trusted }, stamp.time)) {
      throw new TimeStampInvalid("the certificate does not lead to a trusted authority that was valid at that time");
    }
    return stamp;
  });
}

function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof NotAsn1) throw new TimeStampInvalid(`the ${what} is not one of RFC 3161`);
    throw error;
  }
}

function readToken(token: Buffer) {
  const { contentType, content: wrapped } = readAsn1(token, ContentInfo);
  if (contentType !== id_signedData) throw new NotAsn1("signed data are expected");
  // Not as the library's SignedData: it would read every certificate, which takes four fifths of the time.
  const members = asn1Members(wrapped);
  const [signerInfo, ...more] = asn1Members(members.at(-1));
  if (!signerInfo || more.length > 0) throw new TimeStampInvalid("the token does not have exactly one signature");
  return {
    content: readStatement(readAsn1(derBytes(members[2]), EncapsulatedContentInfo)),
    certificates: readCertificateSet(taggedZero(members)),
    signer: readAsn1(derBytes(signerInfo), SignerInfo),
    signed: signedBytes(taggedZero(asn1Members(signerInfo))),
  };
}

/** The signature covers the attributes as a SET (RFC 5652, section 5.4). */
function signedBytes(attributes: BaseBlock | undefined): Buffer {
  const bytes = derBytes(attributes);
  bytes[0] = SET;
  return bytes;
}

function taggedZero(members: readonly BaseBlock[]): BaseBlock | undefined {
  return members.find(({ idBlock }) => idBlock.tagClass === CONTEXT && idBlock.tagNumber === 0);
}

function readStatement({ eContentType, eContent }: EncapsulatedContentInfo): Buffer {
  if (eContentType !== id_ct_tstInfo || !eContent?.single) throw new NotAsn1("a time stamp is expected");
  return Buffer.from(eContent.single.buffer);
}

/** As they were signed: written again, a certificate could have other bytes. Others than X.509 are passed over. */
function readCertificateSet(set: BaseBlock | undefined): readonly X509Certificate[] {
  const found = set ? asn1Members(set).filter(({ idBlock }) => idBlock.tagClass !== CONTEXT) : [];
  return found.map((certificate) => {
    try {
      return new X509Certificate(derBytes(certificate));
    } catch {
      throw new NotAsn1("a certificate is expected");
    }
  });
}

function digestName({ algorithm }: AlgorithmIdentifier): string {
  const digest = DIGESTS.get(algorithm);
  if (digest === undefined) throw new TimeStampInvalid("the digest is not SHA-256, SHA-384 or SHA-512");
  return digest;
}

function readContent(content: Buffer, imprint: Buffer): TimeStamp {
  const { policy, messageImprint, genTime, nonce } = readAsn1(content, TSTInfo);
  const { hashAlgorithm, hashedMessage } = messageImprint;
  if (digestName(hashAlgorithm) !== "sha256" || !Buffer.from(hashedMessage.buffer).equals(imprint)) {
    throw new TimeStampInvalid("the imprint is that of something else");
  }
  const written = derBytes(asn1Members(content)[4]).subarray(2).toString("latin1");
  if (!TIME.test(written) || Number.isNaN(genTime.getTime())) throw new NotAsn1("a time is expected");
  return { policy, time: genTime, nonce: nonce && Buffer.from(nonce) };
}

function attributeOf({ signedAttrs = [] }: SignerInfo, type: string): ArrayBuffer | undefined {
  const found = signedAttrs.filter(({ attrType }) => attrType === type);
  const [value, ...more] = found.flatMap(({ attrValues }) => attrValues);
  if (found.length > 1 || more.length > 0) throw new NotAsn1("an attribute has one value");
  return value;
}

/** The certificate that the signed attribute names (ESSCertIDv2, RFC 5816), which is that of the signer. */
function certificateOf(signer: SignerInfo, candidates: readonly X509Certificate[]): X509Certificate {
  const attribute = attributeOf(signer, SIGNING_CERTIFICATE_V2);
  if (!attribute) throw new TimeStampInvalid("the signature does not name its certificate by ESSCertIDv2");
  const [list] = asn1Members(attribute);
  const parts = asn1Members(asn1Members(list)[0]);
  // The digest is SHA-256 unless it is named.
  const [algorithm, hash] = parts[0]?.idBlock.tagNumber === OCTET_STRING ? [undefined, parts[0]] : parts;
  const digest = algorithm ? digestName(readAsn1(derBytes(algorithm), AlgorithmIdentifier)) : "sha256";
  const wanted = Buffer.from(readAsn1(derBytes(hash), OctetString).buffer);
  const certificate = candidates.find(({ raw }) => createHash(digest).update(raw).digest().equals(wanted));
  if (!certificate) throw new TimeStampInvalid("the certificate of the signature is missing");
  if (!isNamedBy(certificate, signer.sid)) throw new TimeStampInvalid("the signature names another certificate");
  return certificate;
}

function isNamedBy(certificate: X509Certificate, { issuerAndSerialNumber, subjectKeyIdentifier }: SignerInfo["sid"]) {
  if (subjectKeyIdentifier) {
    const own = certificateExtension(certificate, id_ce_subjectKeyIdentifier);
    return own !== undefined && areEqual(readAsn1(own.value, SubjectKeyIdentifier).buffer, subjectKeyIdentifier.buffer);
  }
  const { issuer, serialNumber } = certificateFields(certificate);
  return (
    issuerAndSerialNumber !== undefined &&
    areEqual(AsnConvert.serialize(issuer), AsnConvert.serialize(issuerAndSerialNumber.issuer)) &&
    areEqual(serialNumber, issuerAndSerialNumber.serialNumber)
  );
}

function areEqual(one: ArrayBuffer, other: ArrayBuffer): boolean {
  return Buffer.from(one).equals(Buffer.from(other));
}

/** RFC 3161, section 2.3. */
function requireOnlyTimeStamping(certificate: X509Certificate): void {
  const usage = certificateExtension(certificate, id_ce_extKeyUsage);
  const purposes = usage ? [...readAsn1(usage.value, ExtendedKeyUsage)] : [];
  if (!usage?.isCritical || purposes.length !== 1 || purposes[0] !== id_kp_timeStamping) {
    throw new TimeStampInvalid("the certificate is not one for time stamps alone");
  }
}

function requireContent(signer: SignerInfo, content: Buffer): void {
  const [type, given] = [attributeOf(signer, id_contentType), attributeOf(signer, id_messageDigest)];
  if (!type || !given) throw new NotAsn1("attributes are missing");
  const expected = createHash(digestName(signer.digestAlgorithm)).update(content).digest();
  const isOfStamps = areEqual(type, new ObjectIdentifier({ value: id_ct_tstInfo }).toBER());
  if (!isOfStamps || !expected.equals(Buffer.from(readAsn1(given, OctetString).buffer))) {
    throw new TimeStampInvalid("the signature covers something else");
  }
}

function requireSignature(signer: SignerInfo, signed: Buffer, { publicKey }: X509Certificate): void {
  const [keyType, named] = SIGNATURES.get(signer.signatureAlgorithm.algorithm) ?? [];
  const { asymmetricKeyType, asymmetricKeyDetails } = publicKey;
  if (keyType === undefined || asymmetricKeyType !== keyType) {
    throw new TimeStampInvalid("the signature is neither RSA (PKCS #1) nor ECDSA");
  }
  if (keyType === "rsa" && (asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS) {
    throw new TimeStampInvalid(`the key has fewer than ${MIN_RSA_BITS} bits`);
  }
  const digest = named ?? digestName(signer.digestAlgorithm);
  if (!verify(digest, signed, publicKey, Buffer.from(signer.signature.buffer))) {
    throw new TimeStampInvalid("the signature is wrong");
  }
}
