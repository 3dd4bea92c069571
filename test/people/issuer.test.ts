import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { createGuardedAgents, type GuardedAgents } from "../../src/egress/guarded-agents.js";
import { type Claims, Issuer } from "../../src/people/issuer.js";
import { type AcceptedFactors, NO_FACTORS } from "../../src/people/issuer-factor.js";

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
    const respond = (body: object) => response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    switch (request.url) {
      case "/.well-known/openid-configuration":
        return respond({
          issuer: named,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
          id_token_signing_alg_values_supported: ["RS256"],
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
        });
      case "/keys":
        return respond({ keys: [{ ...key.publicKey.export({ format: "jwk" }), kid: "1", alg: "RS256", use: "sig" }] });
      default:
        return respond({ access_token: "at", token_type: "Bearer", expires_in: 60, id_token: idToken() });
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

function newIssuer(through = agents, secondFactor: AcceptedFactors = NO_FACTORS): Issuer {
  const client = { issuer: url, clientId: "cloakroom", clientSecret: new Sensitive("secret"), secondFactor };
  return new Issuer(client, through);
}

function claimsWith(
  changes: Record<string, unknown>,
  by = key.privateKey,
  secondFactor: AcceptedFactors = NO_FACTORS,
): Promise<Claims> {
  claims = changes;
  signingKey = by;
  return newIssuer(agents, secondFactor).claimsOf(
    new URL(`http://127.0.0.1/sign-in/openid?code=c&state=${CHECKS.state}`),
    CHECKS,
  );
}

const REFUSED = { code: "permission_denied" };

describe("an ID token", () => {
  it("names its person", async () => {
    expect(await claimsWith({ given_name: "Ada" })).toEqual({
      ...{ issuer: url, subject: "ada", email: "ada@example.com", firstName: "Ada", lastName: undefined },
      secondFactorAt: undefined,
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

describe("a second factor", () => {
  const accepted: AcceptedFactors = { amr: ["mfa", "hwk"], acr: ["phr"] };
  const now = () => Math.floor(Date.now() / 1_000);
  const provenAt = async (changes: Record<string, unknown>) =>
    (await claimsWith({ auth_time: now(), ...changes }, key.privateKey, accepted)).secondFactorAt;

  it.each([{ amr: ["pwd", "hwk"] }, { amr: ["mfa"], acr: "weak" }, { acr: "phr" }])(
    "is what the ID token says in %j",
    async (changes) => {
      const signedInAt = now();
      expect(await provenAt({ auth_time: signedInAt, ...changes })).toEqual(new Date(signedInAt * 1_000));
    },
  );

  it.each([{}, { amr: ["pwd"] }, { amr: "mfa" }, { amr: ["phr"] }, { acr: "mfa" }, { acr: ["phr"] }, { acr: null }])(
    "is not what it says in %j",
    async (changes) => {
      expect(await provenAt(changes)).toBeUndefined();
    },
  );

  it("counts from the time of the sign-in at the issuer, and never from one to come", async () => {
    const earlier = now() - 900;
    expect(await provenAt({ amr: ["mfa"], auth_time: earlier })).toEqual(new Date(earlier * 1_000));
    expect((await provenAt({ amr: ["mfa"], auth_time: now() + 900 }))?.getTime()).toBeLessThanOrEqual(Date.now());
  });

  it("needs that time, and one within 12 hours", async () => {
    await expect(provenAt({ amr: ["mfa"], auth_time: undefined })).rejects.toMatchObject(REFUSED);
    await expect(provenAt({ amr: ["mfa"], auth_time: now() - 13 * 3_600 })).rejects.toMatchObject(REFUSED);
  });

  it("is ignored without the operator's setting", async () => {
    expect((await claimsWith({ auth_time: now(), amr: ["mfa"] })).secondFactorAt).toBeUndefined();
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
