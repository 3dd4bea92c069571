import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

/** What a TLS server needs, in PEM. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

/** The test's own certificate authority. */
export interface Authority {
  readonly pem: string;
  /** A server certificate for these DNS names and addresses; a negative `daysValid` makes an expired one. */
  issue(names: readonly string[], addresses?: readonly string[], daysValid?: number): Promise<Identity>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const day = 86_400_000;

x509.cryptoProvider.set(webcrypto);

export async function createAuthority(): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=Test root",
    notBefore: new Date(Date.now() - 30 * day),
    notAfter: new Date(Date.now() + day),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
  });
  return {
    pem: root.toString("pem"),
    async issue(names, addresses = [], daysValid = 1) {
      const own = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
      const leaf = await x509.X509CertificateGenerator.create({
        subject: "CN=Test server",
        issuer: root.subject,
        notBefore: new Date(Date.now() - 20 * day),
        notAfter: new Date(Date.now() + daysValid * day),
        signingAlgorithm: algorithm,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new x509.SubjectAlternativeNameExtension([
            ...names.map((value) => ({ type: "dns", value }) as const),
            ...addresses.map((value) => ({ type: "ip", value }) as const),
          ]),
        ],
      });
      const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", own.privateKey)).toString("base64");
      return {
        cert: leaf.toString("pem"),
        key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
      };
    },
  };
}
