import type { BucketSettings } from "../settings/backups.js";
import { BackupError } from "./backup-error.js";
import type { BackupPlace } from "./backup-place.js";
import { BucketPlace } from "./bucket-place.js";
import { DirectoryPlace } from "./directory-place.js";

/**
 * @param where a directory, or `s3://BUCKET/PREFIX`.
 * @throws {BackupError} if it is neither, or the settings of the bucket are missing.
 */
export function openPlace(where: string, bucket: BucketSettings): BackupPlace {
  if (!where.includes("://")) return new DirectoryPlace(where);
  const [, name, prefix = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(where) ?? [];
  if (name === undefined)
    throw new BackupError(`${where} is no place for backups: give a directory or s3://BUCKET/PREFIX.`);
  return new BucketPlace(name, prefix.replace(/\/+$/, ""), bucket);
}
