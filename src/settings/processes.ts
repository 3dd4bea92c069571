import { availableParallelism } from "node:os";
import { ConfigError } from "./config-error.js";

const MAX_PROCESSES = 64;

/**
 * Connections of the embedded database that server processes may use. The rest of its 200 are for commands and
 * maintenance.
 */
const MAX_EMBEDDED_CONNECTIONS = 180;

/** Connections of a process beside those for transactions: leases, health and jobs. */
const FURTHER_CONNECTIONS = 3;

/**
 * Number of serving processes: a number, or `auto` for the processors available to this process.
 * @throws {ConfigError} if the embedded database has too few connections for them.
 */
export function readProcesses(
  value: string,
  { isEmbedded, connections }: { readonly isEmbedded: boolean; readonly connections: number },
): number {
  const isAuto = value === "auto";
  const processes = isAuto ? Math.min(availableParallelism(), MAX_PROCESSES) : Number(value);
  if (!isAuto && !(/^\d+$/.test(value) && processes >= 1 && processes <= MAX_PROCESSES)) {
    throw new ConfigError(
      `CLOAKROOM_PROCESSES must be auto or a whole number from 1 to ${MAX_PROCESSES}; it is "${value}".`,
    );
  }
  const most = Math.max(1, Math.floor(MAX_EMBEDDED_CONNECTIONS / (connections + FURTHER_CONNECTIONS)));
  if (!isEmbedded || processes <= most) return processes;
  if (isAuto) return most;
  throw new ConfigError(
    `CLOAKROOM_PROCESSES must be at most ${most} with the embedded database and ${connections} connections of each process ` +
      "(CLOAKROOM_DB_CONNECTIONS). Set fewer, or DATABASE_URL.",
  );
}
