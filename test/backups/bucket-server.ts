import { createHash, createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** A bucket as S3 documents it, which checks signatures (version 4) and keeps objects in memory. */
export interface BucketServer extends AsyncDisposable {
  readonly endpoint: string;
  readonly objects: Map<string, Buffer>;
  /** Uploads that were begun and neither completed nor aborted, with their parts. */
  readonly uploads: Map<string, Map<number, Buffer>>;
  /** Called with each request that is signed: what it returns is the response. */
  refuse: (method: string, url: URL) => { readonly status: number; readonly code: string } | undefined;
}

export interface BucketLogin {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const REGION = "eu-central-1";

export async function startBucket(bucket: string, login: BucketLogin): Promise<BucketServer> {
  const objects = new Map<string, Buffer>();
  const uploads = new Map<string, Map<number, Buffer>>();
  const state: Pick<BucketServer, "refuse"> = { refuse: () => undefined };
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const url = new URL(request.url ?? "/", "http://bucket");
    const answer = (status: number, content: string | Buffer = "", headers = {}) =>
      response.writeHead(status, headers).end(content);
    const fail = (status: number, code: string) => answer(status, `<Error><Code>${code}</Code></Error>`);
    if (!isSigned(request, url, body, login)) return fail(403, "SignatureDoesNotMatch");
    const method = request.method ?? "";
    const refused = state.refuse(method, url);
    if (refused) return fail(refused.status, refused.code);
    if (!url.pathname.startsWith(`/${bucket}/`)) return fail(404, "NoSuchBucket");
    const key = decodeURIComponent(url.pathname.slice(bucket.length + 2));
    const uploadId = url.searchParams.get("uploadId");
    if (method === "GET" && key === "") return answer(200, listing(objects, url.searchParams.get("prefix") ?? ""));
    if (method === "GET") {
      const found = objects.get(key);
      return found ? answer(200, found) : fail(404, "NoSuchKey");
    }
    if (method === "DELETE") {
      objects.delete(key);
      return answer(204);
    }
    if (method === "POST" && url.searchParams.has("uploads")) {
      const id = randomBytes(8).toString("hex");
      uploads.set(id, new Map());
      return answer(200, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    if (method === "PUT" && uploadId !== null) {
      uploads.get(uploadId)?.set(Number(url.searchParams.get("partNumber")), body);
      return answer(200, "", { etag: `"${body.length}"` });
    }
    if (method === "POST" && uploadId !== null) {
      const parts = [...(uploads.get(uploadId) ?? [])].toSorted(([a], [b]) => a - b);
      objects.set(key, Buffer.concat(parts.map(([, part]) => part)));
      uploads.delete(uploadId);
      const result = '<ETag>"whole"</ETag>';
      return answer(200, `<CompleteMultipartUploadResult>${result}</CompleteMultipartUploadResult>`);
    }
    objects.set(key, body);
    return answer(200, "", { etag: '"whole"' });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address: AddressInfo | string | null = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return Object.assign(state, {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    uploads,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
}

function listing(objects: ReadonlyMap<string, Buffer>, prefix: string): string {
  const found = [...objects].filter(([key]) => key.startsWith(prefix)).toSorted();
  const contents = found.map(
    ([key, { length }]) =>
      `<Contents><Key>${key}</Key><LastModified>2026-11-23T00:00:00.000Z</LastModified><ETag>"e"</ETag><Size>${length}</Size></Contents>`,
  );
  return `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join("")}</ListBucketResult>`;
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
function isSigned(request: IncomingMessage, url: URL, body: Buffer, login: BucketLogin): boolean {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;
  const [, keyId, day = "", region = "", signedHeaders = "", signature] =
    pattern.exec(request.headers.authorization ?? "") ?? [];
  if (keyId !== login.accessKeyId || region !== REGION) return false;
  if (request.headers["x-amz-security-token"] !== login.sessionToken) return false;
  if (login.sessionToken !== undefined && !signedHeaders.split(";").includes("x-amz-security-token")) return false;
  const digest = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
  if (request.headers["x-amz-content-sha256"] !== digest(body)) return false;
  const encoded = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...url.searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .toSorted()
    .join("&");
  const headers = signedHeaders
    .split(";")
    .map((name) => `${name}:${String(request.headers[name]).trim()}\n`)
    .join("");
  const canonical = [request.method, url.pathname, query, headers, signedHeaders, digest(body)].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, digest(canonical)].join("\n");
  const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();
  const key = [day, region, "s3", "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${login.secretAccessKey}`);
  return hmac(key, text).toString("hex") === signature;
}
