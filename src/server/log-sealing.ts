import type { OperatorLog } from "../api/observation/operator-log.js";
import { ChainHistory } from "../audit/chain/chain-history.js";
import { LogClock } from "../audit/chain/log-clock.js";
import type { SealParts } from "../audit/chain/seal-log.js";
import type { Clock } from "../base/clock.js";
import type { Meters } from "../telemetry/meters.js";
import type { Vault } from "../vault/vault.js";

/** The operator's message about a tenant's log that can no longer be sealed. */
export const TAMPERED = {
  broken: "the log of this tenant was tampered with. Run: cloakroom audit verify",
  refused:
    "the log of this tenant is not sealed any more, since the end of its chain of seals is gone. Run: cloakroom audit verify",
} as const;

export function createLogSealing(
  { database, keyring }: Vault,
  { sinks, isStamped }: Required<Pick<SealParts, "sinks" | "isStamped">>,
  log: OperatorLog,
  meters: Meters,
): SealParts {
  return {
    database,
    keyring,
    history: new ChainHistory(),
    sinks,
    isStamped,
    onVaultBroken() {
      meters.auditIncident("vault_broken");
      log.error({}, "the vault's own record of tenants' seals was tampered with. Run: cloakroom audit verify");
    },
  };
}

/** Resets logs that were closed while the clock ran ahead, and reports each. */
export function watchLogClock(sealing: SealParts, clock: Clock, log: OperatorLog, meters: Meters): LogClock {
  const logClock = new LogClock({
    ...sealing,
    clock,
    onSetBack(tenantId, { from, to }) {
      meters.auditIncident("set_back");
      const reason = `closed until ${from.toISOString()}, continues at ${to.toISOString()}`;
      log.warn({ tenant_id: tenantId, reason }, "tenant log set back after a clock correction");
    },
    onRefused(tenantId) {
      meters.auditIncident("refused");
      log.error({ tenant_id: tenantId }, TAMPERED.refused);
    },
    onBehind(milliseconds) {
      meters.auditIncident("behind");
      const reason = `${(milliseconds / 1_000).toFixed(1)} s`;
      log.error(
        { reason },
        "this server's clock is behind the database's; its writes are refused until it is corrected",
      );
    },
    onFailure: (tenantId) =>
      log.error({ tenant_id: tenantId }, "tenant log could not be set back; this will be tried again"),
  });
  sealing.database.onClosedMinute((tenantId) => logClock.noticed(tenantId));
  return logClock;
}
