import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest();
const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");

/** What a hostile authenticator or browser does otherwise. */
export interface Forgery {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly counter?: number;
  readonly isUserVerified?: boolean;
  readonly credentialId?: string;
  readonly fmt?: string;
  readonly type?: string;
}

/** A passkey of ES256 and the browser around it, for tests without a browser. */
export class SoftwareAuthenticator {
  readonly credentialId = base64url(randomBytes(16));
  counter = 0;
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #origin: string;

  /** @param origin of the page that asks. */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /** RegistrationResponseJSON for options, as text. */
  register(options: string, forgery: Forgery = {}): string {
    const { challenge, rp } = JSON.parse(options);
    const id = Buffer.from(this.credentialId, "base64url");
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, coseOf(this.#keys.publicKey)]);
    const authData = Buffer.concat([this.#dataFor(rp.id, 0x40, forgery), attested]);
    const attestationObject = Buffer.concat([
      Buffer.from([0xa3]),
      ...[cborText("fmt"), cborText(forgery.fmt ?? "none"), cborText("attStmt"), Buffer.from([0xa0])],
      ...[cborText("authData"), Buffer.from([0x58, authData.length]), authData],
    ]);
    const clientDataJSON = this.#clientData("webauthn.create", challenge, forgery);
    return this.#credential(
      {
        clientDataJSON: base64url(clientDataJSON),
        attestationObject: base64url(attestationObject),
        transports: ["usb"],
      },
      forgery,
    );
  }

  /** AuthenticationResponseJSON for options, as text. */
  prove(options: string, forgery: Forgery = {}): string {
    const { challenge, rpId } = JSON.parse(options);
    this.counter += 1;
    const authenticatorData = this.#dataFor(rpId, 0, forgery);
    const clientDataJSON = this.#clientData("webauthn.get", challenge, forgery);
    const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)]);
    const signature = sign("sha256", signed, this.#keys.privateKey);
    return this.#credential(
      {
        ...{ clientDataJSON: base64url(clientDataJSON), authenticatorData: base64url(authenticatorData) },
        signature: base64url(signature),
      },
      forgery,
    );
  }

  #credential(response: object, { credentialId = this.credentialId }: Forgery): string {
    const id = credentialId;
    return JSON.stringify({ id, rawId: id, type: "public-key", clientExtensionResults: {}, response });
  }

  #dataFor(rpId: string, flags: number, forgery: Forgery): Buffer {
    const { isUserVerified = true, counter = this.counter } = forgery;
    const counted = Buffer.alloc(4);
    counted.writeUInt32BE(counter);
    const all = flags | 0x01 | (isUserVerified ? 0x04 : 0);
    return Buffer.concat([sha256(forgery.rpId ?? rpId), Buffer.from([all]), counted]);
  }

  #clientData(type: string, challenge: string, forgery: Forgery): Buffer {
    const { origin = this.#origin } = forgery;
    const data = { type: forgery.type ?? type, challenge: forgery.challenge ?? challenge, origin, crossOrigin: false };
    return Buffer.from(JSON.stringify(data));
  }
}

/** A key of P-256 as COSE (RFC 9053, 7.1.1): {1: 2, 3: -7, -1: 1, -2: x, -3: y}. */
function coseOf(key: KeyObject): Buffer {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  return Buffer.concat([
    Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]),
    ...[Buffer.from(x, "base64url"), Buffer.from([0x22, 0x58, 0x20]), Buffer.from(y, "base64url")],
  ]);
}

/** Texts of at most 23 bytes. */
function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)]);
}
