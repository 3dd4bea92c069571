import {
  type CipherGCM,
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  type DecipherGCM,
  type Decipheriv,
} from "node:crypto";
import type { TransformOptions } from "node:stream";
import type { JsonObject } from "../../../base/json.js";
import { byteParameter, optionalWhole, parameterText } from "./parameters.js";

/** Most open ciphers of one instance: enough for honest code, few enough to cost nothing. */
const MAX_OPEN = 64;

/**
 * Most bytes of one call, which keeps it below 0.3 s. The guest splits longer data, except where a mode takes all of it
 * at once (CCM). Modes that encrypt bit by bit or byte by byte, and key wrapping, are slow: 4 MB of ARIA in CFB1 take
 * 18 s.
 */
const MAX_BYTES = 1024 * 1024;
const MAX_SLOW_BYTES = 64 * 1024;
const MAX_CCM_BYTES = 8 * 1024 * 1024;

function maxBytes(algorithm: string): number {
  if (/cfb[18]$|wrap/i.test(algorithm)) return MAX_SLOW_BYTES;
  return /ccm$/i.test(algorithm) ? MAX_CCM_BYTES : MAX_BYTES;
}

interface OpenCipher {
  readonly cipher: Cipheriv | Decipheriv;
  readonly maxBytes: number;
}

/** Ciphers that are between two calls of `update`. */
export class OpenCiphers {
  readonly #open = new Map<string, OpenCipher>();
  #numbers = 0;

  run(operation: string, parameters: JsonObject, data: Uint8Array): Buffer | string {
    if (operation === "cipher.open") return this.#openCipher(parameters);
    const open = this.#open.get(parameterText(parameters, "id"));
    if (open === undefined) throw new Error("Unsupported state: this cipher is no longer open");
    const { cipher } = open;
    if (data.length > open.maxBytes) {
      throw new RangeError(`This cipher takes at most ${open.maxBytes} bytes at a time here.`);
    }
    switch (operation) {
      case "cipher.update":
        return cipher.update(data);
      case "cipher.final":
        return cipher.final();
      case "cipher.setAutoPadding":
        cipher.setAutoPadding(parameters.on === true);
        return "";
      case "cipher.setAAD":
        if (!isSealing(cipher) && !isOpening(cipher)) break;
        cipher.setAAD(data, { plaintextLength: optionalWhole(parameters, "plaintextLength", 0, 2 ** 31 - 1) ?? 0 });
        return "";
      case "cipher.setAuthTag":
        if (!isOpening(cipher)) break;
        cipher.setAuthTag(data);
        return "";
      case "cipher.getAuthTag":
        if (!isSealing(cipher)) break;
        return cipher.getAuthTag();
    }
    throw new Error(`${operation} is not for this cipher`);
  }

  #openCipher(parameters: JsonObject): string {
    const key = byteParameter(parameters, "key");
    const iv = parameters.iv === null ? null : byteParameter(parameters, "iv");
    const authTagLength = optionalWhole(parameters, "authTagLength", 1, 16);
    const options: TransformOptions & { authTagLength?: number } = authTagLength === undefined ? {} : { authTagLength };
    const algorithm = parameterText(parameters, "algorithm");
    this.#numbers += 1;
    const cipher =
      parameters.decrypt === true
        ? createDecipheriv(algorithm, key, iv, options)
        : createCipheriv(algorithm, key, iv, options);
    this.#open.set(String(this.#numbers), { cipher, maxBytes: maxBytes(algorithm) });
    this.#forgetOldest();
    return String(this.#numbers);
  }

  #forgetOldest(): void {
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MAX_OPEN) return;
      this.#open.delete(oldest);
    }
  }
}

/** Node gives these methods to every cipher; modes without a tag refuse by themselves. */
function isSealing(cipher: Cipheriv | Decipheriv): cipher is CipherGCM {
  return "getAuthTag" in cipher;
}

function isOpening(cipher: Cipheriv | Decipheriv): cipher is DecipherGCM {
  return "setAuthTag" in cipher;
}
