import { systemClock } from "../base/clock.js";
import { KeyFileError } from "../crypto/key-file.js";
import { RootKeyDenied, RootKeyUnreachable } from "../crypto/root-key.js";
import { ShareError } from "../crypto/shares.js";
import { connect, type DatabaseAddress } from "../store/connect.js";
import { readDiskUse } from "../store/disk-use.js";
import { EmbeddedDatabaseError } from "../store/embedded/embedded-database.js";
import { DatabaseSetupError } from "../store/roles.js";
import { openVault, privilegedLogins } from "../vault.js";
import type { Command } from "./command.js";

/** Whose messages say what to do. */
const OURS = [DatabaseSetupError, KeyFileError, RootKeyDenied, RootKeyUnreachable, ShareError, EmbeddedDatabaseError];

export const doctor: Command = {
  summary: "Check database, roles and root key, and say what to do about what is wrong",
  options: {},
  help: [],
  async run({ config, say, answer }) {
    try {
      await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
      const sql = connect(vault.address, { role: "cloakroom_app", connections: 1, statementTimeout: 10_000 });
      try {
        const [facts] = await sql<{ version: string; role: string; bytes: number }[]>`
          select current_setting('server_version') as version, current_user as role, pg_database_size(current_database()) as bytes`;
        const warnings = (await privilegedLogins(config)).map(({ warning }) => warning);
        answer({
          healthy: true,
          ...(warnings.length > 0 ? { warnings } : {}),
          database: vault.embedded ? `embedded, ${vault.embedded.dataDir}` : "DATABASE_URL",
          server_version: facts?.version ?? "unknown",
          role: facts?.role ?? "unknown",
          database_bytes: facts?.bytes ?? 0,
          root_key: vault.rootKey.id,
          ...(await showDisk(vault.ownerAddress)),
          connections_needed: config.fastConnections + config.slowConnections + 2,
          rate_limits: config.rateLimits ?? "off",
          rate_limits_shared: config.redisUrl !== undefined,
        });
      } finally {
        await sql.end({ timeout: 5 });
      }
    } catch (error) {
      if (!(error instanceof Error) || !OURS.some((kind) => error instanceof kind)) throw error;
      answer({ healthy: false, problem: error.message });
      process.exitCode = 1;
    }
  },
};

/** Sizes, growth and connections: as the owner of the tables, since the other role may not see them all. */
async function showDisk(address: DatabaseAddress) {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  try {
    const use = await readDiskUse(sql);
    return {
      tables: use.tables,
      statistics_since: use.statisticsSince?.toISOString() ?? "the start",
      wal_bytes: use.walBytes ?? "not visible to this login (it takes pg_monitor)",
      wal_written_bytes: use.walWritten,
      connections: use.connections,
      max_connections: use.maxConnections,
    };
  } finally {
    await sql.end({ timeout: 5 });
  }
}
