import { randomBytes } from "node:crypto";
import { OpenCiphers } from "../host-crypto/ciphers.js";
import { HostIntl } from "../host-intl/intl-call.js";
import { urlCall } from "../host-url.js";
import { zlibCall } from "../host-zlib.js";
import { cryptoCall } from "./crypto-call.js";
import type { NativeCalls } from "./host-functions.js";

const MAX_RANDOM_BYTES = 65_536;

export interface NativeParts {
  readonly isInterrupted: () => boolean;
  readonly memoryBytes: () => number;
  readonly readPackage: (name: string) => Uint8Array | undefined;
}

/** One instance's access to Node's crypto, zlib, Intl and URL. */
export class NativeFunctions implements NativeCalls {
  readonly #parts: NativeParts;
  readonly #ciphers = new OpenCiphers();
  readonly #intl = new HostIntl();

  constructor(parts: NativeParts) {
    this.#parts = parts;
  }

  endRun(): void {
    this.#intl.clear();
  }

  random(bytes: number): Uint8Array {
    return randomBytes(Math.min(Math.max(bytes, 0), MAX_RANDOM_BYTES));
  }

  crypto(operation: string, parameters: string, data: Uint8Array): Uint8Array | string {
    const session = { ciphers: this.#ciphers, isInterrupted: this.#parts.isInterrupted };
    return cryptoCall(operation, parameters, data, session);
  }

  zlib(operation: string, parameters: string, data: Uint8Array): Uint8Array | string {
    return zlibCall(operation, parameters, data);
  }

  intl(request: string): string {
    return this.#intl.call(request);
  }

  url(request: string): string {
    return urlCall(request);
  }

  memoryBytes(): number {
    return this.#parts.memoryBytes();
  }

  readPackage(name: string): Uint8Array | undefined {
    return this.#parts.readPackage(name);
  }
}
