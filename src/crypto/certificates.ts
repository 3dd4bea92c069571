import { X509Certificate } from "node:crypto";

/** Certificates of a PEM file. @throws for a file without certificates, or with an unreadable one. */
export function readCertificates(pem: string): readonly X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new Error("the file has no certificate");
  return found.map((text) => new X509Certificate(text));
}
