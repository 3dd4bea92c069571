import type { Archiving } from "../audit/archive/log-archive.js";
import { BackupError } from "../backups/backup-error.js";
import { openTarget } from "../backups/open-target.js";
import type { Config } from "../settings/config.js";
import { ConfigError } from "../settings/config-error.js";

/** The archive of the settings. Nothing is connected yet. @throws {ConfigError} */
export function configuredArchiving({ logArchive, buckets }: Pick<Config, "logArchive" | "buckets">): Archiving {
  if (logArchive === undefined || logArchive === "off") return logArchive;
  try {
    return openTarget(logArchive, buckets);
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    throw new ConfigError(`CLOAKROOM_LOG_ARCHIVE: ${error.message}`);
  }
}
