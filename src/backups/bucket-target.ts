import { Readable } from "node:stream";
import { S3Client, S3Errors } from "@bradenmacdonald/s3-lite-client";
import type { BucketSettings } from "../settings/buckets.js";
import { BackupError } from "./backup-error.js";
import type { BackupTarget } from "./backup-target.js";

/** Four parts are in memory at a time, and a file has at most 10,000: 320 GB of a compressed backup. */
const PART_BYTES = 32 * 1024 * 1024;

/** A bucket of S3, or of a service with the same interface. A file appears there when its last part has arrived. */
export class BucketTarget implements BackupTarget {
  readonly name: string;
  readonly #prefix: string;
  readonly #client: S3Client;

  constructor(bucket: string, prefix: string, { endpoint, region, credentials }: BucketSettings) {
    if (!credentials) {
      throw new BackupError("For s3:// set CLOAKROOM_S3_ACCESS_KEY_ID and CLOAKROOM_S3_SECRET_ACCESS_KEY.");
    }
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    this.name = `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
    this.#client = new S3Client({
      endPoint: endpoint,
      region,
      bucket,
      accessKey: accessKeyId,
      secretKey: secretAccessKey.reveal(),
      ...(sessionToken ? { sessionToken: sessionToken.reveal() } : {}),
    });
  }

  async list(): Promise<readonly string[]> {
    const names: string[] = [];
    try {
      for await (const { key } of this.#client.listObjects({ prefix: this.#prefix })) {
        names.push(key.slice(this.#prefix.length));
      }
    } catch (error) {
      throw this.#failed("listed", error);
    }
    return names;
  }

  async write(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    let ofContent: unknown;
    const source = Readable.from(content).on("error", (error) => {
      ofContent = error;
    });
    try {
      await this.#client.putObject(`${this.#prefix}${name}`, Readable.toWeb(source), { partSize: PART_BYTES });
    } catch (error) {
      throw ofContent ?? this.#failed("written to", error);
    }
  }

  async *read(name: string): AsyncGenerator<Uint8Array> {
    try {
      const { body } = await this.#client.getObject(`${this.#prefix}${name}`);
      if (body) yield* body;
    } catch (error) {
      throw this.#failed("read", error);
    }
  }

  async remove(name: string): Promise<void> {
    await this.#client.deleteObject(`${this.#prefix}${name}`).catch((error: unknown) => {
      throw this.#failed("written to", error);
    });
  }

  /** The service's code, such as AccessDenied, and no text of it. */
  #failed(verb: string, error: unknown): BackupError {
    return new BackupError(`${this.name} cannot be ${verb}: ${bucketFailure(error)}.`);
  }
}

function bucketFailure(error: unknown): string {
  if (error instanceof S3Errors.ServerError) {
    const code = /^[A-Za-z]{1,60}$/.exec(error.code)?.[0] ?? "";
    return `the service answers ${error.statusCode} ${code}`.trimEnd();
  }
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return `the service does not answer as S3 does${code}; check CLOAKROOM_S3_ENDPOINT`;
}
