import { statfs } from "node:fs/promises";
import { readBuildVersion } from "../base/build-version.js";
import { KeyFileError } from "../crypto/key-file.js";
import { RootKeyDenied, RootKeyUnreachable } from "../crypto/root-key.js";
import { ShareError } from "../crypto/shares.js";
import type { Config } from "../settings/config.js";
import { MIGRATIONS_FOLDER } from "../store/migrate.js";
import type { DatabaseAddress } from "../store/postgres/connect.js";
import { DatabaseSetupError } from "../store/postgres/roles.js";
import { readUpgradeFacts, type SizedTable, type UpgradeFacts } from "../store/upgrade-facts.js";
import { awaitBoth, databaseAddresses, openEmbedded } from "./configured-database.js";
import { openRootKey } from "./open-root-key.js";
import { sharesOnInput } from "./unsealing.js";
import { configuredRootKeys } from "./vault.js";

/** One thing that an upgrade needs. `attention` does not stop it. */
export interface UpgradeLine {
  readonly check: "schema" | "migration" | "postgresql" | "root key" | "disk" | "replicas" | "backup";
  readonly result: "ok" | "attention" | "fails";
  /** For a person: what was found, and what to do. */
  readonly says: string;
}

/** The supported versions of PostgreSQL. */
const POSTGRES = [15, 18] as const;
const BACKUP_AGE_MS = 86_400_000;
/** Reading a table for an index, with its rows in order: an estimate for one processor and a disk of its own. */
const INDEX_BYTES_PER_SECOND = 50_000_000;
const OURS = [KeyFileError, RootKeyDenied, RootKeyUnreachable, ShareError];

/** Whether this program can take over the database, which is not changed. An embedded one is started for it. */
export async function checkUpgrade(config: Config, announce: (line: string) => void): Promise<readonly UpgradeLine[]> {
  await using embedded = config.databaseUrl ? undefined : await openEmbedded(config, "command", announce);
  const { address, ownerAddress } = databaseAddresses(config, embedded?.connection);
  await awaitBoth(address, ownerAddress);
  const facts = await readUpgradeFacts(ownerAddress, MIGRATIONS_FOLDER).catch((error: unknown) => {
    if (error instanceof DatabaseSetupError) return error;
    throw error;
  });
  if (facts instanceof DatabaseSetupError) return [{ check: "schema", result: "fails", says: facts.message }];
  if (facts.schemaOf === undefined) return [schemaLine(facts), postgresLine(facts)];
  return [
    schemaLine(facts),
    ...facts.pending.map(migrationLine),
    postgresLine(facts),
    await rootKeyLine(config, ownerAddress),
    await diskLine(facts, embedded?.dataDir),
    replicasLine(facts),
    backupLine(facts),
  ];
}

/** Whether nothing stops the upgrade. */
export function mayUpgrade(lines: readonly UpgradeLine[]): boolean {
  return lines.every(({ result }) => result !== "fails");
}

function schemaLine({ pending, schemaOf }: UpgradeFacts): UpgradeLine {
  const { version } = readBuildVersion();
  const check = "schema";
  if (schemaOf === undefined)
    return { check, result: "fails", says: "the database has no schema. Run: cloakroom init" };
  if (pending.length === 0)
    return { check, result: "ok", says: `this is Cloakroom ${version}, and nothing is to be migrated` };
  return {
    check,
    result: "ok",
    says: `of Cloakroom ${schemaOf}; ${pending.length} to run with: cloakroom migrate. Servers of ${schemaOf} keep serving beside it`,
  };
}

function migrationLine({ name, indexes, locks }: UpgradeFacts["pending"][number]): UpgradeLine {
  if (indexes) {
    const seconds = Math.ceil(indexes.bytes / INDEX_BYTES_PER_SECOND);
    return {
      check: "migration",
      result: "ok",
      says: `${name} builds an index on ${sizeText(indexes)} beside its writers, who do not wait: about ${seconds} s (estimate)`,
    };
  }
  const locked =
    locks.length === 0
      ? "locks no table that is in use"
      : `locks ${locks.map(sizeText).join(", ")} for its changes, for which it waits 0.9 s at a time`;
  return { check: "migration", result: "ok", says: `${name} ${locked}` };
}

function sizeText({ table, rows, bytes }: SizedTable): string {
  return `${table} (${rows.toLocaleString("en")} rows, ${Math.ceil(bytes / 1_000_000).toLocaleString("en")} MB)`;
}

function postgresLine({ postgresNumber, postgresVersion }: UpgradeFacts): UpgradeLine {
  const major = Math.floor(postgresNumber / 10_000);
  const [least, most] = POSTGRES;
  const check = "postgresql";
  if (major < least)
    return {
      check,
      result: "fails",
      says: `${postgresVersion} is too old: upgrade PostgreSQL to ${least} or newer first`,
    };
  if (major > most)
    return {
      check,
      result: "attention",
      says: `${postgresVersion} is newer than ${most}, which this release was tried with`,
    };
  return { check, result: "ok", says: `${postgresVersion}; no extension is needed` };
}

async function rootKeyLine(config: Config, address: DatabaseAddress): Promise<UpgradeLine> {
  const check = "root key";
  try {
    const { rootKey } = await openRootKey({
      rootKeys: configuredRootKeys(config),
      address,
      mayMake: false,
      announce: () => {},
      unseal: sharesOnInput,
    });
    return { check, result: "ok", says: `${rootKey.id} opens` };
  } catch (error) {
    const isOurs = error instanceof DatabaseSetupError || OURS.some((kind) => error instanceof kind);
    if (!isOurs || !(error instanceof Error)) throw error;
    return { check, result: "fails", says: error.message };
  }
}

/** An index takes at most as much as its table, and as much again to sort. */
async function diskLine({ pending }: UpgradeFacts, dataDir: string | undefined): Promise<UpgradeLine> {
  const check = "disk";
  const needed = 2 * pending.reduce((sum, { indexes }) => sum + (indexes?.bytes ?? 0), 0);
  if (needed === 0) return { check, result: "ok", says: "no index is to be built" };
  const megabytes = `${Math.ceil(needed / 1_000_000).toLocaleString("en")} MB`;
  if (dataDir === undefined) {
    return {
      check,
      result: "attention",
      says: `indexes take up to ${megabytes}. See that the database's disk has them`,
    };
  }
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize > needed) return { check, result: "ok", says: `indexes take up to ${megabytes}, which are free` };
  return { check, result: "fails", says: `indexes take up to ${megabytes}: make room on the disk of ${dataDir}` };
}

function replicasLine({ others }: UpgradeFacts): UpgradeLine {
  const list = Object.entries(others).map(([version, sessions]) => `${sessions} of ${version}`);
  const check = "replicas";
  if (list.length === 0) return { check, result: "ok", says: "no server of another version is connected" };
  return {
    check,
    result: "attention",
    says: `connections of other versions: ${list.join(", ")}. Replace those servers after the migration`,
  };
}

function backupLine({ lastBackup, now }: UpgradeFacts): UpgradeLine {
  const check = "backup";
  const advice = "Run: cloakroom backup --to PLACE, or see that your own is recent";
  if (lastBackup === undefined)
    return { check, result: "attention", says: `cloakroom backup has taken none. ${advice}` };
  const isOld = now.getTime() - lastBackup.getTime() > BACKUP_AGE_MS;
  const says = `the last was completed at ${lastBackup.toISOString()}`;
  return isOld ? { check, result: "attention", says: `${says}. ${advice}` } : { check, result: "ok", says };
}
