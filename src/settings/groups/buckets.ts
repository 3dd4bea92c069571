import { optional, secret, text } from "../setting.js";

export const BUCKETS = {
  S3_ENDPOINT: optional(
    "`http` or `https` URL",
    "`https://s3.REGION.amazonaws.com`",
    "Where buckets (`s3://BUCKET/PREFIX`) of backups and of the log's archive are reached. The bucket's name becomes the first part of the path.",
  ),
  S3_REGION: text("name of a region", "us-east-1", "Region of these buckets, which signatures name."),
  S3_ACCESS_KEY_ID: optional(
    "access key",
    "none",
    "Access key for them. A server needs it for the archive alone, a command for the backups. Needs `CLOAKROOM_S3_SECRET_ACCESS_KEY`.",
  ),
  S3_SECRET_ACCESS_KEY: secret("secret", "none", "Secret of that access key."),
  S3_SESSION_TOKEN: secret("token", "none", "Session token, if that access key is a temporary one."),
};
