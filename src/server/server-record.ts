import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { causeFields } from "../api/observation/log-cause.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { recordVaultEvent } from "../audit/chain/vault-log.js";
import type { TenantParts } from "../audit/tenant-database.js";
import type { Vault } from "../vault/vault.js";

const RETRY_MS = 10_000;

/**
 * Records in the vault's own log when a server starts and stops (PCI DSS 10.2.1.6). A server that is killed leaves no
 * row: its start is then followed by the start of the next.
 */
export class ServerRecord {
  readonly #parts: TenantParts;
  readonly #log: Pick<OperatorLog, "warn">;
  readonly #stopping = new AbortController();
  readonly #entityId = `${hostname()}/${process.pid}`;
  #started: Promise<void> | undefined;
  #isDatabaseGone = false;

  constructor(vault: TenantParts & Pick<Vault, "embedded">, log: Pick<OperatorLog, "warn">) {
    this.#parts = vault;
    this.#log = log;
    void vault.embedded?.exited.then(() => {
      this.#isDatabaseGone = true;
    });
  }

  /** The server takes requests, which wait for nothing here. A row that cannot be written is tried again. */
  start(remark: string): void {
    this.#started = this.#writeStart(remark);
  }

  async stop(): Promise<void> {
    if (!this.#started || this.#isDatabaseGone) return;
    this.#stopping.abort();
    await this.#started;
    await this.#write("stop", "all requests have ended").catch((error: unknown) =>
      this.#log.warn(causeFields(error), "the stop of this server could not be recorded"),
    );
  }

  async #writeStart(remark: string): Promise<void> {
    for (;;) {
      try {
        return await this.#write("start", remark);
      } catch (error) {
        this.#log.warn(causeFields(error), "the start of this server could not be recorded; this will be tried again");
      }
      await pause(RETRY_MS, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (this.#stopping.signal.aborted) return;
    }
  }

  #write(operation: "start" | "stop", remark: string): Promise<void> {
    const server = { entityType: "server", entityId: this.#entityId, isByServer: true } as const;
    return recordVaultEvent(this.#parts, { ...server, operation, remark });
  }
}
