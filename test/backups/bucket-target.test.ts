// Computes: 8 s
import { randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { openTarget } from "../../src/backups/open-target.js";
import { listBackups } from "../../src/backups/stored-backups.js";
import { readBuckets } from "../../src/settings/buckets.js";
import { type BucketServer, startBucket } from "./bucket-server.js";

const LOGIN = { accessKeyId: "AKIATEST", secretAccessKey: "s3cr3t-of-the-bucket", sessionToken: "temp0rary" };

const settingsOf = ({ endpoint }: BucketServer, secret = LOGIN.secretAccessKey) =>
  readBuckets({
    CLOAKROOM_S3_ENDPOINT: endpoint,
    CLOAKROOM_S3_REGION: "eu-central-1",
    CLOAKROOM_S3_ACCESS_KEY_ID: LOGIN.accessKeyId,
    CLOAKROOM_S3_SECRET_ACCESS_KEY: secret,
    CLOAKROOM_S3_SESSION_TOKEN: LOGIN.sessionToken,
  });

async function* pieces(bytes: Buffer, fails?: Error): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 1_000_000) yield bytes.subarray(at, at + 1_000_000);
  if (fails) throw fails;
}

describe("backups in a bucket", () => {
  it("are written in parts, listed below their prefix alone, read and removed", async () => {
    await using bucket = await startBucket("vault-backups", LOGIN);
    const place = openTarget("s3://vault-backups/production/", settingsOf(bucket));
    const large = randomBytes(40_000_000);
    const name = "cloakroom-20261123T200000Z-0a0b0c0d";
    await place.write(`${name}.export`, pieces(large));
    expect(await listBackups(place)).toEqual([]);
    await place.write(`${name}.json`, pieces(Buffer.from("{}")));
    bucket.objects.set("production-old/cloakroom-20200101T000000Z-0a0b0c0d.json", Buffer.from("{}"));
    expect(await listBackups(place)).toEqual([name]);
    expect((await buffer(place.read(`${name}.export`))).equals(large)).toBe(true);
    expect([...bucket.objects.keys()]).toContain(`production/${name}.export`);
    await place.remove(`${name}.json`);
    await place.remove(`${name}.json`);
    expect(await listBackups(place)).toEqual([]);
  });

  it("do not appear if the content fails, or a part is refused, at any part", async () => {
    for (const [size, parts] of [
      [1_000, 1],
      [40_000_000, 2],
    ] as const) {
      await using bucket = await startBucket("vault-backups", LOGIN);
      const place = openTarget("s3://vault-backups", settingsOf(bucket));
      const lost = new Error("the snapshot is lost");
      await expect(place.write("a.export", pieces(Buffer.alloc(size), lost))).rejects.toBe(lost);
      for (let part = 1; part <= parts; part += 1) {
        // A file of one part is sent without a number.
        bucket.refuse = (method, url) =>
          method === "PUT" && Number(url.searchParams.get("partNumber") ?? 1) === part
            ? { status: 507, code: "QuotaExceeded" }
            : undefined;
        await expect(place.write("a.export", pieces(Buffer.alloc(size)))).rejects.toThrow(
          "s3://vault-backups cannot be written to: the service answers 507 QuotaExceeded.",
        );
      }
      expect([...bucket.objects.keys()]).toEqual([]);
    }
  });

  it("are refused with a reason that holds no secret", async () => {
    const bucket = await startBucket("vault-backups", LOGIN);
    const wrong = openTarget("s3://vault-backups", settingsOf(bucket, "another"));
    await expect(wrong.list()).rejects.toThrow("cannot be listed: the service answers 403 SignatureDoesNotMatch.");
    const away = openTarget("s3://vault-backups", settingsOf(bucket));
    await bucket[Symbol.asyncDispose]();
    await expect(away.list()).rejects.toThrow(
      "s3://vault-backups cannot be listed: the service does not answer as S3 does (ECONNREFUSED); check CLOAKROOM_S3_ENDPOINT.",
    );
    expect(() => openTarget("S3://x", readBuckets({}))).toThrow("S3://x is neither");
  });
});
