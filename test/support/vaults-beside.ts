import type { Clock } from "../../src/base/clock.js";
import type { Vault } from "../../src/vault/vault.js";

/** The vaults that a test has opened beside a server in its process, each as a command with a clock. */
export class VaultsBeside implements AsyncDisposable {
  readonly #open = new Map<Clock, Promise<Vault>>();

  of(clock: Clock, open: () => Promise<Vault>): Promise<Vault> {
    const known = this.#open.get(clock);
    if (known) return known;
    const vault = open();
    this.#open.set(clock, vault);
    vault.catch(() => this.#open.delete(clock));
    return vault;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = [...this.#open.values()];
    this.#open.clear();
    for (const vault of await Promise.all(opened)) await vault[Symbol.asyncDispose]();
  }
}

/**
 * By the environment of a server that runs in this process. They stay open until it stops: to open one takes 0.15 s of
 * processor time, and tests of people open one for each sign-in.
 */
export const vaultsBeside = new Map<Readonly<Record<string, string>>, VaultsBeside>();
