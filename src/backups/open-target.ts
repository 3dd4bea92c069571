import type { BucketSettings } from "../settings/buckets.js";
import { BackupError } from "./backup-error.js";
import type { BackupTarget } from "./backup-target.js";
import { BucketTarget } from "./bucket-target.js";
import { DirectoryTarget } from "./directory-target.js";

/**
 * @param where a directory, or `s3://BUCKET/PREFIX`.
 * @throws {BackupError} if it is neither, or the settings of the bucket are missing.
 */
export function openTarget(where: string, bucket: BucketSettings): BackupTarget {
  if (!where.includes("://")) return new DirectoryTarget(where);
  const [, name, prefix = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(where) ?? [];
  if (name === undefined) throw new BackupError(`${where} is neither a directory nor s3://BUCKET/PREFIX.`);
  return new BucketTarget(name, prefix.replace(/\/+$/, ""), bucket);
}
