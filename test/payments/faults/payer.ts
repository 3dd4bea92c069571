import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Caller } from "../../../src/access/caller.js";
import { callerTransaction } from "../../../src/access/caller-transaction.js";
import { Grant } from "../../../src/access/grant.js";
import { EMPTY_CONTEXT } from "../../../src/audit/audit-context.js";
import { type Clock, systemClock } from "../../../src/base/clock.js";
import type { TenantId, Uuid } from "../../../src/base/ids.js";
import type { TenantKeys } from "../../../src/crypto/tenant-keys.js";
import { chooseFormula, createConnection } from "../../../src/payments/connections/connection.js";
import { Connectors } from "../../../src/payments/connections/connectors.js";
import { providerHttp } from "../../../src/payments/contract/provider-http.js";
import { readConfig } from "../../../src/settings/config.js";
import { saveCredentialsCheck } from "../../../src/store/payments/connections.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import type { OrdinaryTransaction, Work } from "../../../src/store/transactions/transaction.js";
import { provisionTenant } from "../../../src/tenancy/provision.js";
import { DEFAULT_SETTINGS } from "../../../src/tenancy/settings.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { PATIENCE_MS } from "../../support/patience.js";
import { agents } from "../connectors/bench.js";
import type { Service } from "./services.js";
import { Till } from "./till.js";

/** How long a request waits for a response that does not come. */
const SILENCE_MS = 1_500;

const PERMISSIONS = [
  ...(["token:create", "token:use", "token:update", "token:delete"] as const),
  "orchestration:transaction:capture",
] as const;

/** A vault with one tenant, whose payments are created, sent and reconciled by the code that serves requests. */
export class Payer implements AsyncDisposable {
  readonly vault: Vault;
  readonly tenantId: TenantId;
  readonly clock: Clock;
  readonly #directory: string;
  readonly #sql: Sql;
  readonly #keys: TenantKeys;
  readonly #caller: Caller;

  private constructor(
    directory: string,
    clock: Clock,
    vault: Vault,
    tenantId: TenantId,
    keys: TenantKeys,
    applicationId: Uuid,
  ) {
    this.#directory = directory;
    this.clock = clock;
    this.vault = vault;
    this.tenantId = tenantId;
    this.#keys = keys;
    this.#sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
    this.#caller = {
      ...{ tenantId, principal: { kind: "application", id: applicationId, type: "private" }, revision: 1 },
      ...{ keyId: undefined, session: undefined },
      context: EMPTY_CONTEXT,
      eventTypes: [],
      grant: new Grant({ permissions: PERMISSIONS, rules: [] }),
      settings: DEFAULT_SETTINGS,
    };
  }

  static async open(clock: Clock = systemClock): Promise<Payer> {
    const directory = newDirectory();
    const config = readConfig({ CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) });
    const vault = await openVault({ config, as: "server", announce: () => {}, clock });
    const owner = { name: "Shop", ownerEmail: "owner@example.com" };
    const { tenantId, applicationId } = await provisionTenant(vault, owner);
    return new Payer(directory, clock, vault, tenantId, await vault.keyring.of(tenantId), applicationId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sql.end({ timeout: 5 });
    await this.vault[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** A separate connection to a service, whose credentials count as verified. */
  async connect(service: Service): Promise<Till> {
    const { connector, currency } = service;
    const fields = Object.entries(service.fields).map(([key, value]) => ({ key, value }));
    const draft = {
      ...{ formula: chooseFormula(connector.formulaId, "card"), fields, displayName: "Shop", active: true },
      ...{ acceptedCountries: ["US"], acceptedCurrencies: [currency] },
    };
    const { id } = await this.run(async (tx) => {
      const made = await createConnection(callerTransaction(tx, this.#keys, this.#caller), draft);
      tx.enqueue(saveCredentialsCheck, {
        id: made.id,
        revision: 1,
        status: "available",
        checks: 0,
        check_due_at: null,
      });
      return made;
    });
    // A response that comes may take long, on a busy machine where dozens of cases wait concurrently.
    const patience = () => (service.willBeSilent() ? SILENCE_MS : PATIENCE_MS);
    const http = (tenantId: TenantId) => providerHttp(agents, tenantId, () => {}, patience());
    const connectors = new Connectors([connector], http, this.clock);
    return new Till(this, this.#caller, this.#keys, service, connectors, id);
  }

  run<T>(work: Work<T, OrdinaryTransaction>): Promise<T> {
    return this.vault.database.of(this.tenantId).ordinary(work);
  }

  /** The time passes for which a process that is gone had the payment reserved. */
  async lapse(id: Uuid): Promise<void> {
    await this.#sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${this.tenantId}, true)`;
      await tx`update payments set lease_until = created_at where tenant_id = ${this.tenantId} and id = ${id}`;
    });
  }

  /** Seconds for which no other process may work on the payment. */
  leaseLeft(id: Uuid): Promise<number> {
    return this.#sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${this.tenantId}, true)`;
      const [row] = await tx<{ seconds: number }[]>`
        select extract(epoch from lease_until - now())::float8 as seconds from payments
        where tenant_id = ${this.tenantId} and id = ${id}`;
      return row?.seconds ?? Number.NaN;
    });
  }
}
