import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { createGuardedAgents, type GuardedAgents } from "../../src/egress/guarded-agents.js";
import { type Claims, Issuer } from "../../src/people/issuer.js";

const CHECKS = { state: "a-state", nonce: "a-nonce", verifier: "v".repeat(43) };
const key = generateKeyPairSync("rsa", { modulusLength: 2048 });
const otherKey = generateKeyPairSync("rsa", { modulusLength: 2048 });

let server: Server;
let url: string;
let agents: GuardedAgents;
/** What the issuer puts into its next ID token, and the key that signs it. */
let claims: Record<string, unknown> = {};
let signingKey: KeyObject = key.privateKey;
let named: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const answer = (body: object) => response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    switch (request.url) {
      case "/.well-known/openid-configuration":
        return answer({
          issuer: named,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
          id_token_signing_alg_values_supported: ["RS256"],
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
        });
      case "/keys":
        return answer({ keys: [{ ...key.publicKey.export({ format: "jwk" }), kid: "1", alg: "RS256", use: "sig" }] });
      default:
        return answer({ access_token: "at", token_type: "Bearer", expires_in: 60, id_token: idToken() });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  url = `http://127.0.0.1:${address.port}`;
  named = url;
  agents = createGuardedAgents(new EgressPolicy({ allow: `127.0.0.1:${address.port}` }));
});
afterAll(() => {
  agents?.close();
  server?.close();
});

function idToken(): string {
  const now = Math.floor(Date.now() / 1_000);
  const defaults = {
    ...{ iss: url, aud: "cloakroom", sub: "ada", nonce: CHECKS.nonce, iat: now, exp: now + 60 },
    ...{ email: "ada@example.com", email_verified: true },
  };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "RS256", kid: "1" })}.${part({ ...defaults, ...claims })}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), signingKey).toString("base64url")}`;
}

function newIssuer(through = agents): Issuer {
  return new Issuer({ issuer: url, clientId: "cloakroom", clientSecret: new Sensitive("secret") }, through);
}

function claimsWith(changes: Record<string, unknown>, by = key.privateKey): Promise<Claims> {
  claims = changes;
  signingKey = by;
  return newIssuer().claimsOf(new URL(`http://127.0.0.1/sign-in/openid?code=c&state=${CHECKS.state}`), CHECKS);
}

const REFUSED = { code: "permission_denied" };

describe("an ID token", () => {
  it("names its person", async () => {
    expect(await claimsWith({ given_name: "Ada" })).toEqual({
      ...{ issuer: url, subject: "ada", email: "ada@example.com", firstName: "Ada", lastName: undefined },
    });
  });

  it.each([
    ["nonce", { nonce: "another" }],
    ["nonce, which is absent", { nonce: undefined }],
    ["issuer", { iss: "https://another.example" }],
    ["audience", { aud: "another" }],
    ["end, which has passed", { exp: 1 }],
  ])("with another %s is refused", async (_, changes) => {
    await expect(claimsWith(changes)).rejects.toMatchObject(REFUSED);
  });

  it("with the signature of another key is refused", async () => {
    await expect(claimsWith({}, otherKey.privateKey)).rejects.toMatchObject(REFUSED);
  });

  it.each([false, "true", 1, undefined])("has no address where email_verified is %j", async (email_verified) => {
    expect((await claimsWith({ email_verified })).email).toBeUndefined();
  });
});

describe("an issuer", () => {
  it("is refused when its document names another issuer, and found once it is repaired", async () => {
    const issuer = newIssuer();
    named = "https://another.example";
    await expect(issuer.authorizationUrl("http://127.0.0.1/x", CHECKS)).rejects.toMatchObject({ code: "unavailable" });
    named = url;
    await expect(issuer.authorizationUrl("http://127.0.0.1/x", CHECKS)).resolves.toContain(
      "code_challenge_method=S256",
    );
  });

  it("at an address that is not public needs the operator's entry in the egress guard", async () => {
    const closed = createGuardedAgents(new EgressPolicy());
    const refused = newIssuer(closed).authorizationUrl("http://127.0.0.1/x", CHECKS);
    await expect(refused).rejects.toMatchObject({ code: "unavailable" });
    closed.close();
  });
});
