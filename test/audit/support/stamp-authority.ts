import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface StampAuthorityOptions {
  /** Of its certificates; "ec" if absent: OpenSSL needs a second of processor time for the RSA keys of one authority. */
  readonly key?: "rsa" | "ec";
  /** The extended key usage of the signing certificate. */
  readonly usage?: string;
  readonly essDigest?: "sha1" | "sha256";
  readonly daysValid?: number;
  readonly hasIntermediate?: boolean;
}

/** A time-stamp authority: `openssl ts` behind HTTP. */
export interface StampAuthority extends AsyncDisposable {
  readonly url: string;
  /** Of the root, PEM. */
  readonly ca: string;
  readonly caFile: string;
  /** Number of requests over HTTP. */
  asked: number;
  /** Handles requests in place of the authority. */
  fail: ((response: ServerResponse) => void) | undefined;
  reply(query: Buffer): Promise<Buffer>;
  /** A token with this content, signed by whatever certificate the authority has: `openssl ts` refuses some. */
  sign(content: Buffer): Promise<Buffer>;
}

export async function createStampAuthority(options: StampAuthorityOptions = {}): Promise<StampAuthority> {
  const folder = await mkdtemp(join(tmpdir(), "tsa-"));
  await issueCertificates(folder, options);
  const openssl = (...parts: string[]) => run("openssl", parts, { cwd: folder });
  let replies = 0;
  const reply = async (query: Buffer) => {
    replies += 1;
    const [asked, responseFile] = [join(folder, `${replies}.tsq`), join(folder, `${replies}.tsr`)];
    await writeFile(asked, query);
    await openssl("ts", "-reply", "-config", "tsa.cnf", "-queryfile", asked, "-out", responseFile);
    return readFile(responseFile);
  };
  const sign = async (content: Buffer) => {
    await writeFile(join(folder, "content"), content);
    const signer = ["-signer", "tsa.pem", "-inkey", "tsa.key", "-cades", "-md", "sha256"];
    const form = ["-binary", "-nodetach", "-econtent_type", "1.2.840.113549.1.9.16.1.4", "-outform", "DER"];
    await openssl("cms", "-sign", ...form, ...signer, "-in", "content", "-out", "token");
    return readFile(join(folder, "token"));
  };
  const authority = {
    ...{ url: "", asked: 0, reply, sign, ca: await readFile(join(folder, "root.pem"), "utf8") },
    caFile: join(folder, "root.pem"),
    fail: undefined as StampAuthority["fail"],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
    },
  };
  const server = createServer(async (request, response) => {
    authority.asked += 1;
    if (authority.fail) return authority.fail(response);
    if (request.headers["content-type"] !== "application/timestamp-query") return void response.writeHead(415).end();
    response.setHeader("content-type", "application/timestamp-reply");
    response.end(await reply(await buffer(request)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  authority.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tsa`;
  return authority;
}

async function issueCertificates(folder: string, options: StampAuthorityOptions): Promise<void> {
  const { key = "ec", usage = "critical,timeStamping", essDigest = "sha256", daysValid = 2 } = options;
  const openssl = (...parts: string[]) => run("openssl", parts, { cwd: folder });
  await writeFile(join(folder, "serial"), "01\n");
  await writeFile(join(folder, "tsa.cnf"), tsaConfig(essDigest));
  await writeFile(join(folder, "ca.ext"), "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n");
  await writeFile(join(folder, "tsa.ext"), `extendedKeyUsage=${usage}\nkeyUsage=critical,digitalSignature\n`);
  const newKey = (name: string) =>
    key === "rsa"
      ? openssl("genrsa", "-out", `${name}.key`, "2048")
      : openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", `${name}.key`);
  const issue = async (name: string, by: string, extensions: string, days: number) => {
    await newKey(name);
    await openssl("req", "-new", "-key", `${name}.key`, "-subj", `/CN=Test ${name}`, "-out", `${name}.csr`);
    const signer =
      by === name ? ["-signkey", `${name}.key`] : ["-CA", `${by}.pem`, "-CAkey", `${by}.key`, "-CAcreateserial"];
    const lasting = ["-days", String(days), "-extfile", extensions, "-out", `${name}.pem`];
    await openssl("x509", "-req", "-in", `${name}.csr`, ...signer, ...lasting);
  };
  await issue("root", "root", "ca.ext", 3);
  if (options.hasIntermediate) await issue("between", "root", "ca.ext", 3);
  await issue("tsa", options.hasIntermediate ? "between" : "root", "tsa.ext", daysValid);
  const chain = options.hasIntermediate ? await readFile(join(folder, "between.pem"), "utf8") : "";
  await writeFile(join(folder, "chain.pem"), chain === "" ? await readFile(join(folder, "root.pem"), "utf8") : chain);
}

function tsaConfig(essDigest: string): string {
  return `
[tsa]
default_tsa = tsa1
[tsa1]
serial = ./serial
crypto_device = builtin
signer_cert = ./tsa.pem
certs = ./chain.pem
signer_key = ./tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
other_policies = 1.2.3.4.2
digests = sha256
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = ${essDigest}
`;
}
