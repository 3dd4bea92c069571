import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer as createPlainServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createAuthority } from "../egress/certificates.js";

/** How the stand-in handles requests: serve them, refuse all as sealed, or never respond. */
export type TransitMood = "serving" | "sealed" | "silent";

/** A server with the Transit and AppRole endpoints as Vault and OpenBao document them, over TLS. */
export interface TransitServer extends AsyncDisposable {
  readonly origin: string;
  /** The authority of its certificate, in PEM. */
  readonly ca: string;
  mood: TransitMood;
  /** Accepted tokens. A login adds one. */
  readonly tokens: Set<string>;
  readonly logins: { roleId: string; secretId: string };
  /** Each request so far, as method and path. */
  readonly requests: string[];
  /** The namespace of the last request. */
  namespace: string | undefined;
}

interface TransitResponse {
  readonly status: number;
  readonly body?: unknown;
}

const refusal = (status: number, ...errors: string[]): TransitResponse => ({ status, body: { errors } });

export async function startTransit({ tls = true }: { tls?: boolean } = {}): Promise<TransitServer> {
  const authority = await createAuthority();
  const keys = new Map<string, Buffer[]>([
    ["transit/cloakroom", [randomBytes(32)]],
    ["transit/other", [randomBytes(32)]],
  ]);
  const state = {
    mood: "serving" as TransitMood,
    tokens: new Set(["good-token"]),
    logins: { roleId: "role", secretId: "secret" },
    requests: [] as string[],
    namespace: undefined as string | undefined,
  };

  const respond = async (request: IncomingMessage): Promise<TransitResponse | undefined> => {
    const path = (request.url ?? "").replace(/^\/v1\//, "");
    state.requests.push(`${request.method} ${path}`);
    state.namespace = request.headers["x-vault-namespace"]?.toString();
    const body = JSON.parse((await text(request)) || "{}");
    if (state.mood === "silent") return undefined;
    if (state.mood === "sealed") return refusal(503, "Vault is sealed");
    if (request.method !== "POST") return refusal(405, "unsupported operation");
    if (path === "auth/approle/login") {
      const isRight = body.role_id === state.logins.roleId && body.secret_id === state.logins.secretId;
      if (!isRight) return refusal(400, "invalid role or secret ID");
      const token = `login-${randomBytes(8).toString("hex")}`;
      state.tokens.add(token);
      return { status: 200, body: { auth: { client_token: token, lease_duration: 3600, renewable: true } } };
    }
    if (!state.tokens.has(request.headers["x-vault-token"]?.toString() ?? "")) return refusal(403, "permission denied");
    const [, mount, operation, name] = /^(.+)\/(encrypt|decrypt)\/([^/]+)$/.exec(path) ?? [];
    if (mount && operation && name) return crypt(keys.get(`${mount}/${name}`), operation, body);
    const [, rotated, key] = /^(.+)\/keys\/([^/]+)\/rotate$/.exec(path) ?? [];
    const versions = keys.get(`${rotated}/${key}`);
    if (!versions) return refusal(404);
    versions.push(randomBytes(32));
    return { status: 200, body: { data: { latest_version: versions.length } } };
  };

  const listener: RequestListener = async (request, response) => {
    const given = await respond(request);
    if (!given) return;
    response.writeHead(given.status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(given.body ?? {}));
  };
  const server = tls
    ? createServer(await authority.issue(["localhost"], ["127.0.0.1"]), listener)
    : createPlainServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    origin: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    ca: authority.pem,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

function crypt(
  versions: readonly Buffer[] | undefined,
  operation: string,
  body: Record<string, string>,
): TransitResponse {
  if (!versions) return refusal(operation === "encrypt" ? 403 : 400, "encryption key not found");
  if (operation === "encrypt") {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", versions.at(-1) ?? "", nonce);
    const sealed = Buffer.concat([nonce, cipher.update(body.plaintext ?? "", "base64"), cipher.final()]);
    const ciphertext = `vault:v${versions.length}:${Buffer.concat([sealed, cipher.getAuthTag()]).toString("base64")}`;
    return { status: 200, body: { data: { ciphertext, key_version: versions.length } } };
  }
  const [, version, encoded = ""] = /^vault:v(\d+):(.*)$/.exec(body.ciphertext ?? "") ?? [];
  const key = versions[Number(version) - 1];
  const sealed = Buffer.from(encoded, "base64");
  // As strict as Vault is: Node also accepts truncated base64.
  const isWhole = sealed.toString("base64") === encoded && sealed.length >= 28;
  if (!key || !isWhole) return refusal(400, "invalid ciphertext: unable to decrypt");
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, 12));
    decipher.setAuthTag(sealed.subarray(-16));
    const plaintext = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
    return { status: 200, body: { data: { plaintext: plaintext.toString("base64") } } };
  } catch {
    return refusal(400, "cipher: message authentication failed");
  }
}
