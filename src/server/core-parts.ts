import type { Authenticator } from "../access/authenticate.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import type { Clock } from "../base/clock.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import type { CallApi } from "../functions/serve-host-calls.js";
import type { MemoryBudget } from "../memory/memory-budget.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import type { Database } from "../store/database.js";
import type { Keyring } from "../tenancy/keyring.js";
import type { Tenants } from "../tenancy/tenants.js";
import type { BinTable } from "../tokens/types/bin-table.js";

export interface CoreParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly log: OperatorLog;
  /** The operator's data about card issuers. */
  readonly bins: BinTable | undefined;
  readonly authenticator: Authenticator;
  /** The only path to a destination that a tenant names. */
  readonly agents: GuardedAgents;
  readonly sandbox: Sandbox;
  readonly memory: MemoryBudget;
  /** Calls of tenants' code to the API. */
  readonly callApi: CallApi;
}
