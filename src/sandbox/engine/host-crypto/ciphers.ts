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
import { bytesOf, optionalWhole, textOf } from "./parameters.js";

/** Open ciphers of one instance: enough for honest code, few enough to cost nothing. */
const MOST_OPEN = 64;

type OpenCipher = Cipheriv | Decipheriv;

/** Ciphers that are between two calls of `update`. */
export class OpenCiphers {
  readonly #open = new Map<string, OpenCipher>();
  #numbers = 0;

  run(operation: string, parameters: JsonObject, data: Uint8Array): Buffer | string {
    if (operation === "cipher.open") return this.#openCipher(parameters);
    const cipher = this.#open.get(textOf(parameters, "id"));
    if (cipher === undefined) throw new Error("Unsupported state: this cipher is no longer open");
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
    const key = bytesOf(parameters, "key");
    const iv = parameters.iv === null ? null : bytesOf(parameters, "iv");
    const authTagLength = optionalWhole(parameters, "authTagLength", 1, 16);
    const options: TransformOptions & { authTagLength?: number } = authTagLength === undefined ? {} : { authTagLength };
    const algorithm = textOf(parameters, "algorithm");
    this.#numbers += 1;
    this.#open.set(
      String(this.#numbers),
      parameters.decrypt === true
        ? createDecipheriv(algorithm, key, iv, options)
        : createCipheriv(algorithm, key, iv, options),
    );
    this.#forgetOldest();
    return String(this.#numbers);
  }

  #forgetOldest(): void {
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MOST_OPEN) return;
      this.#open.delete(oldest);
    }
  }
}

/** Node gives these methods to every cipher; those of modes without a tag refuse by themselves. */
function isSealing(cipher: OpenCipher): cipher is CipherGCM {
  return "getAuthTag" in cipher;
}

function isOpening(cipher: OpenCipher): cipher is DecipherGCM {
  return "setAuthTag" in cipher;
}
