import type { Buffer } from "node:buffer";
import type { Host } from "../host.js";
import { Cipher } from "./ciphers.js";
import { Hash, Hmac, Sign, signWith, Verify, verifyWith } from "./digests.js";
import { Ecdh } from "./ecdh.js";
import { base64, dataBytes, HostCrypto } from "./host-crypto.js";
import { KeyObject, keySpec, secretBase64 } from "./keys.js";

type Callback = (error: Error | null, result?: unknown) => void;

/** `require("crypto")`: Node's interface, over Node's crypto in the worker. */
export function createCryptoModule(host: Host) {
  const crypto = new HostCrypto(host);
  return {
    ...digests(crypto),
    ...ciphers(crypto),
    ...keyFunctions(crypto),
    ...derivations(crypto),
    ...randomFunctions(crypto),
    timingSafeEqual: (a: unknown, b: unknown) => sameBytes(dataBytes(a), dataBytes(b)),
    getHashes: () => JSON.parse(crypto.text("names", { of: "hashes" })),
    getCiphers: () => JSON.parse(crypto.text("names", { of: "ciphers" })),
    getCipherInfo: (algorithm: unknown) =>
      JSON.parse(crypto.text("cipherInfo", { algorithm: String(algorithm) })) ?? undefined,
    getCurves: () => JSON.parse(crypto.text("names", { of: "curves" })),
    KeyObject,
    constants: JSON.parse(crypto.text("constants", {})),
    webcrypto: undefined,
  };
}

/** Declared functions, because some packages call them with `new`, as Node's own allow. */
function digests(crypto: HostCrypto) {
  function createHash(algorithm: unknown, options?: unknown) {
    return new Hash(crypto, { algorithm: String(algorithm), outputLength: Object(options).outputLength });
  }
  function createHmac(algorithm: unknown, key: unknown) {
    return new Hmac(crypto, { algorithm: String(algorithm), key: secretBase64(key) });
  }
  function createSign(algorithm: unknown) {
    return new Sign(crypto, String(algorithm));
  }
  function createVerify(algorithm: unknown) {
    return new Verify(crypto, String(algorithm));
  }
  return {
    createHash,
    createHmac,
    createSign,
    createVerify,
    sign: (algorithm: unknown, data: unknown, key: unknown, callback?: Callback) =>
      withCallback(callback, () => signWith(crypto, algorithm, dataBytes(data), key)),
    verify: (algorithm: unknown, data: unknown, key: unknown, signature: unknown, callback?: Callback) =>
      withCallback(callback, () =>
        verifyWith(crypto, algorithm, { data: dataBytes(data), signature: dataBytes(signature) }, key),
      ),
  };
}

/** Declared functions, for the same reason as those of {@link digests}. */
function ciphers(crypto: HostCrypto) {
  function createCipheriv(algorithm: unknown, key: unknown, iv: unknown, options?: unknown) {
    return new Cipher(crypto, { decrypt: false, algorithm, key, iv, options });
  }
  function createDecipheriv(algorithm: unknown, key: unknown, iv: unknown, options?: unknown) {
    return new Cipher(crypto, { decrypt: true, algorithm, key, iv, options });
  }
  const asymmetric = (operation: string, role: "private" | "public") => (key: unknown, data: unknown) =>
    crypto.bytes(operation, { key: keySpec(key, role) }, dataBytes(data));

  return {
    createCipheriv,
    createDecipheriv,
    publicEncrypt: asymmetric("publicEncrypt", "public"),
    privateDecrypt: asymmetric("privateDecrypt", "private"),
    privateEncrypt: asymmetric("privateEncrypt", "private"),
    publicDecrypt: asymmetric("publicDecrypt", "public"),
  };
}

function keyFunctions(crypto: HostCrypto) {
  return {
    createPrivateKey: (key: unknown) => new KeyObject(crypto, keySpec(key, "private")),
    createPublicKey: (key: unknown) => new KeyObject(crypto, keySpec(key, "public")),
    createSecretKey: (key: unknown, encoding?: unknown) =>
      new KeyObject(crypto, { role: "secret", secret: base64(key, encoding) }),
    createECDH: (curve: unknown) => new Ecdh(crypto, curve),
    diffieHellman: ({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }) =>
      crypto.bytes("diffieHellman", { privateKey: privateKey.spec(), publicKey: publicKey.spec() }),
    generateKeyPairSync: (type: unknown, options?: unknown) => generateKeyPair(crypto, type, options),
    generateKeyPair: Object.assign(
      (
        type: unknown,
        options: unknown,
        callback: (error: unknown, publicKey?: unknown, privateKey?: unknown) => void,
      ) => {
        withCallback(
          (error: unknown, pair?: { publicKey: unknown; privateKey: unknown }) =>
            error ? callback(error) : callback(null, pair?.publicKey, pair?.privateKey),
          () => generateKeyPair(crypto, type, options),
        );
      },
      // The variant for util.promisify: resolves to both keys, as in Node.
      {
        [Symbol.for("nodejs.util.promisify.custom")]: async (type: unknown, options: unknown) =>
          generateKeyPair(crypto, type, options),
      },
    ),
  };
}

function derivations(crypto: HostCrypto) {
  const derive = (operation: string, password: unknown, salt: unknown, parameters: object) =>
    crypto.bytes(operation, { password: secretBase64(password), salt: base64(salt), ...parameters });
  const pbkdf2Sync = (password: unknown, salt: unknown, iterations: unknown, keylen: unknown, digest: unknown) =>
    derive("pbkdf2", password, salt, { iterations, keylen, digest });
  const scryptSync = (password: unknown, salt: unknown, keylen: unknown, options?: unknown) => {
    const { N, r, p, cost, blockSize, parallelization } = Object(options);
    return derive("scrypt", password, salt, { keylen, N: N ?? cost, r: r ?? blockSize, p: p ?? parallelization });
  };
  const hkdfSync = (digest: unknown, key: unknown, salt: unknown, info: unknown, keylen: unknown): ArrayBufferLike => {
    const bytes = derive("hkdf", key, salt, { digest, info: base64(info), keylen });
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  };
  return {
    pbkdf2Sync,
    pbkdf2: (
      password: unknown,
      salt: unknown,
      iterations: unknown,
      keylen: unknown,
      digest: unknown,
      callback: Callback,
    ) => withCallback(callback, () => pbkdf2Sync(password, salt, iterations, keylen, digest)),
    scryptSync,
    scrypt: (password: unknown, salt: unknown, keylen: unknown, ...rest: unknown[]) => {
      const [options, callback] = rest.length > 1 ? rest : [undefined, rest[0]];
      return withCallback(callback, () => scryptSync(password, salt, keylen, options));
    },
    hkdfSync,
    hkdf: (digest: unknown, key: unknown, salt: unknown, info: unknown, keylen: unknown, callback: Callback) =>
      withCallback(callback, () => hkdfSync(digest, key, salt, info, keylen)),
  };
}

function randomFunctions(crypto: HostCrypto) {
  const randomBytes = (size: unknown, callback?: Callback) => {
    const count = byteCount(size);
    return withCallback(callback, () => crypto.random(count));
  };
  const randomFillSync = <T extends ArrayBufferView>(target: T, offset = 0, size?: number): T => {
    const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
    const end = size === undefined ? bytes.length : offset + size;
    for (let start = offset; start < end; start += MAX_RANDOM) {
      bytes.set(crypto.random(Math.min(MAX_RANDOM, end - start)), start);
    }
    return target;
  };
  return {
    randomBytes,
    pseudoRandomBytes: randomBytes,
    randomFillSync,
    randomFill: (target: ArrayBufferView, ...rest: unknown[]) =>
      withCallback(rest.at(-1), () => randomFillSync(target)),
    randomInt: (first: unknown, second?: unknown, third?: unknown) => {
      const [min, max] = typeof second === "number" ? [Number(first), second] : [0, Number(first)];
      return withCallback(third ?? second, () => randomInt(crypto, min, max));
    },
    randomUUID: () => uuid(crypto.random(16)),
  };
}

function generateKeyPair(crypto: HostCrypto, type: unknown, options: unknown) {
  const { namedCurve, modulusLength, publicExponent, privateKeyEncoding, publicKeyEncoding } = Object(options);
  const parameters = { type, namedCurve, modulusLength, publicExponent };
  const { privateKey, publicKey } = JSON.parse(crypto.text("generateKeyPair", parameters));
  const keys = {
    privateKey: new KeyObject(crypto, { role: "private", pem: privateKey }),
    publicKey: new KeyObject(crypto, { role: "public", pem: publicKey }),
  };
  return {
    privateKey: privateKeyEncoding ? keys.privateKey.export(privateKeyEncoding) : keys.privateKey,
    publicKey: publicKeyEncoding ? keys.publicKey.export(publicKeyEncoding) : keys.publicKey,
  };
}

/** Browsers' limit for one draw, and more than enough here. */
const MAX_RANDOM = 65_536;

function byteCount(size: unknown): number {
  const count = Number(size);
  if (Number.isInteger(count) && count >= 0 && count <= MAX_RANDOM) return count;
  throw new RangeError(`The value of "size" is out of range. It must be >= 0 && <= ${MAX_RANDOM}.`);
}

/** Node's two forms: with a callback the result comes later, without it at once. */
function withCallback<T>(callback: unknown, compute: () => T): T | undefined {
  if (typeof callback !== "function") return compute();
  queueMicrotask(() => {
    let result: T;
    try {
      result = compute();
    } catch (error) {
      callback(error);
      return;
    }
    callback(null, result);
  });
  return undefined;
}

/** A uniform draw: values that would favour low numbers are discarded. */
function randomInt(crypto: HostCrypto, min: number, max: number): number {
  const range = max - min;
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || range <= 0 || range > 2 ** 48) {
    throw new RangeError('The value of "max" is out of range.');
  }
  const limit = 2 ** 48 - (2 ** 48 % range);
  for (;;) {
    const drawn = crypto.random(6).readUIntBE(0, 6);
    if (drawn < limit) return min + (drawn % range);
  }
}

function uuid(bytes: Buffer): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

function sameBytes(a: Buffer, b: Buffer): boolean {
  if (a.length !== b.length) throw new RangeError("Input buffers must have the same byte length");
  let difference = 0;
  for (const [position, byte] of a.entries()) difference |= byte ^ (b[position] ?? 0);
  return difference === 0;
}
