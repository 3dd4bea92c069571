import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import type { Vault } from "../../../src/vault/vault.js";

/** Tables whose rows operations of people and keys lock or change. */
export const HELD_TABLES = [
  ...(["members", "invitations", "sign_ins", "sign_in_requests", "member_identities", "passkeys"] as const),
  ...(["applications", "application_keys", "sessions", "token_exports", "tenants"] as const),
] as const;
export type HeldTable = (typeof HELD_TABLES)[number];

/** Settings of a server with several ordinary transactions of a tenant at a time, as several processes or replicas have. */
export const SEVERAL_AT_ONCE = { DB_CONNECTIONS: "32" } as const;

/** How often is looked whether requests wait, before they are left to themselves: some wait for nothing that is held. */
const LOOKS = 3_000;

/**
 * Holds rows of a tenant, to let several requests get as far as that before any of them goes on: each has then found its
 * caller's rights in force. For a server of the test alone: it counts all that waits in its database.
 */
export class HeldRows implements AsyncDisposable {
  readonly #sql: Sql;

  constructor({ ownerAddress }: Pick<Vault, "ownerAddress">) {
    this.#sql = connect(ownerAddress, { connections: 2, statementTimeout: 20_000 });
  }

  /**
   * Sends requests one after the other, each once the ones before wait or have ended.
   * @param table undefined: nothing is held, and all are sent at once.
   */
  async race<T>(tenantId: string, table: HeldTable | undefined, requests: readonly (() => Promise<T>)[]): Promise<T[]> {
    if (table === undefined) return Promise.all(requests.map((send) => send()));
    const { sent } = await this.#sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenantId}, true)`;
      // Log rows refer to their tenant, and may go on.
      await tx.unsafe(`select from ${table} where tenant_id = '${tenantId}' for no key update`);
      const running: Promise<T>[] = [];
      let ended = 0;
      for (const send of requests) {
        const one = send();
        running.push(one);
        void one.finally(() => (ended += 1)).catch(() => {});
        await this.#untilWaiting(() => running.length - ended);
      }
      // In an object: a promise that is returned would be awaited while the rows are held.
      return { sent: running };
    });
    return Promise.all(sent);
  }

  async #untilWaiting(unfinished: () => number): Promise<void> {
    for (let look = 0; look < LOOKS; look += 1) {
      const [found] = await this.#sql<{ waiting: number }[]>`
        select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock'`;
      if ((found?.waiting ?? 0) >= unfinished()) return;
    }
  }

  /** Rows of a tenant, as the database's owner reads them. */
  async rows<Row extends object>(tenantId: string, query: string) {
    return this.#sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${tenantId}, true)`;
      return [...(await tx.unsafe<Row[]>(query))];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sql.end({ timeout: 5 });
  }
}
