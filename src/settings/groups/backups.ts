import { optional, secret, text } from "../setting.js";

export const BACKUPS = {
  BACKUP_S3_ENDPOINT: optional(
    "`http` or `https` URL",
    "`https://s3.REGION.amazonaws.com`",
    "Where commands reach the bucket of backups (`s3://BUCKET/PREFIX`). The bucket's name becomes the first part of the path.",
  ),
  BACKUP_S3_REGION: text("name of a region", "us-east-1", "Region of that bucket, which signatures name."),
  BACKUP_S3_ACCESS_KEY_ID: optional(
    "access key",
    "none",
    "Access key for that bucket. Needs `CLOAKROOM_BACKUP_S3_SECRET_ACCESS_KEY`.",
  ),
  BACKUP_S3_SECRET_ACCESS_KEY: secret("secret", "none", "Secret of that access key."),
  BACKUP_S3_SESSION_TOKEN: secret("token", "none", "Session token, if that access key is a temporary one."),
};
