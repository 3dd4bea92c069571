import { randomBytes } from "node:crypto";
import { OpenCiphers } from "../host-crypto/ciphers.js";
import { HostIntl } from "../host-intl/intl-call.js";
import { cryptoCall } from "./crypto-call.js";

const MAX_RANDOM_BYTES = 65_536;

export interface NativeParts {
  readonly isInterrupted: () => boolean;
  readonly memoryBytes: () => number;
  readonly readPackage: (name: string) => Uint8Array | undefined;
}

/**
 * Computations by the worker for one instance of the guest. Arguments bound the time of each call, because it cannot be
 * interrupted.
 */
export class NativeFunctions {
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

  intl(request: string): string {
    return this.#intl.call(request);
  }

  memoryBytes(): number {
    return this.#parts.memoryBytes();
  }

  /** A script whose value is the function around the package. */
  readPackage(name: string): Uint8Array | undefined {
    return this.#parts.readPackage(name);
  }
}
