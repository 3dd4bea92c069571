import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import Provider from "oidc-provider";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { IssuerBrowser } from "../../support/oidc-issuer.js";
import { addPasskey } from "../../support/passkeys.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { SoftwareAuthenticator } from "../../support/software-authenticator.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, TestBrowser } from "../../support/test-browser.js";

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const BEGIN = "SignInService/BeginDeviceSignIn";
const END = "SignInService/EndDeviceSignIn";

let issuer: Server;
let issuerUrl: string;
let server: ServerHere;
let tenant: TestTenant;

beforeAll(async () => {
  issuer = createServer().listen(0, "127.0.0.1");
  await once(issuer, "listening");
  const { port }: { port: number } = Object(issuer.address());
  issuerUrl = `http://127.0.0.1:${port}`;
  server = await startServerHere({
    OPENID_ISSUER: issuerUrl,
    OPENID_CLIENT_ID: "cloakroom",
    OPENID_CLIENT_SECRET: "issuer-secret",
    EGRESS_ALLOW: `127.0.0.1:${port}`,
  });
  const provider = new Provider(issuerUrl, {
    clients: [
      {
        client_id: "cloakroom",
        client_secret: "issuer-secret",
        grant_types: ["authorization_code", DEVICE_GRANT],
        redirect_uris: [`${server.url}/sign-in/openid`],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    cookies: { keys: ["a key of a test"] },
    features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true } },
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId, email: `${accountId}@example.com`, email_verified: true }),
    }),
  });
  issuer.on("request", provider.callback());
  tenant = await newTenant(server.url, server.environment);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  issuer?.close();
});

/** Opens the issuer's page as a person does, and submits its forms to the end: confirms, logs in, consents. */
async function confirm(page: string, account: string, isAborted = false): Promise<void> {
  const person = new IssuerBrowser();
  let address = page;
  let form: URLSearchParams | undefined;
  for (let shown = 0; shown < 12; shown += 1) {
    const step = await person.open(address, form);
    if ("next" in step) {
      form = undefined;
      address = step.next;
      continue;
    }
    const { html, action } = step;
    if (!action || form?.has("abort")) return;
    const hidden = [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
    form = new URLSearchParams();
    for (const [, name = "", value = ""] of hidden) form.set(name, value);
    if (html.includes('value="login"')) for (const name of ["login", "password"]) form.set(name, account);
    else if (html.includes('name="user_code"') && html.includes('name="confirm"')) form.set("confirm", "yes");
    if (isAborted && html.includes('name="abort"')) form.set("abort", "yes");
    address = action;
  }
  throw new Error("the pages of the issuer do not end");
}

async function invite(account: string, role: string): Promise<void> {
  const body = { email: `${account}@example.com`, role };
  expect((await tenant.manage("POST", "/tenants/self/invitations", { body })).status).toBe(201);
}

describe("a device sign-in", () => {
  async function begin(browser: TestBrowser): Promise<string> {
    const { status, body } = await browser.call(BEGIN, { tenantId: tenant.id });
    expect({ status, body }).toMatchObject({ status: 200, body: { userCode: expect.any(String), interval: 5 } });
    expect(JSON.stringify(body)).not.toContain("device_code");
    return body.verificationUriComplete;
  }

  it("ends with a sign-in once the person has confirmed, and only once", async () => {
    await invite("ada", "AUDITOR");
    const browser = new TestBrowser(server.url);
    const page = await begin(browser);
    expect((await browser.call(END)).body).toEqual({ waitSeconds: 5 });
    await confirm(page, "ada");
    const copy = new TestBrowser(server.url);
    for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
    const { status, body } = await browser.call(END);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { signedIn: { role: "AUDITOR", email: "ada@example.com", signIn: { method: "device" } } },
    });
    expect((await browser.call("SignInService/WhoAmI")).body).toMatchObject({ role: "AUDITOR" });
    expect((await copy.call(END)).status).toBe(403);
  });

  it("is refused to another program, and for a person who is not invited", async () => {
    const browser = new TestBrowser(server.url);
    const page = await begin(browser);
    expect((await new TestBrowser(server.url).call(END)).status).toBe(403);
    await confirm(page, "mallory");
    const refused = await browser.call(END);
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("not a member") } });
    expect(browser.cookie("sign-in")).toBeUndefined();
  });

  it("is refused when the person refuses it at the issuer", async () => {
    const browser = new TestBrowser(server.url);
    await confirm(await begin(browser), "ada", true);
    const refused = await browser.call(END);
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("refused at the issuer") } });
  });

  it("is refused to a person with a passkey, which a terminal cannot ask for", async () => {
    await invite("edith", "AUDITOR");
    const browser = new TestBrowser(server.url);
    await confirm(await begin(browser), "edith");
    expect((await browser.call(END)).status).toBe(200);
    const origin = server.url.replace("127.0.0.1", "localhost");
    const withoutBrowser = await browser.call("PasskeyService/BeginPasskeyRegistration");
    expect(withoutBrowser.body.message).toContain("Sign in with a browser to add your first passkey");
    const page = await signedIn(tenant.id, "edith@example.com", server.url, server.environment);
    expect((await addPasskey(page, new SoftwareAuthenticator(origin))).status).toBe(200);
    const terminal = new TestBrowser(server.url);
    await confirm(await begin(terminal), "edith");
    const refused = await terminal.call(END);
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("You have a passkey") } });
    expect(
      terminal.cookies
        .keys()
        .filter((name) => /sign-in|passkey/.test(name))
        .toArray(),
    ).toEqual([]);
  });

  it("is asked for at most 60 times a minute", async () => {
    const browser = new TestBrowser(server.url);
    await begin(browser);
    const statuses: number[] = [];
    for (let call = 0; call < 61; call += 1) statuses.push((await browser.call(END)).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(60);
    expect(statuses.at(-1)).toBe(429);
  });

  it("is not begun by pages of other origins, nor for a tenant that does not exist", async () => {
    const browser = new TestBrowser(server.url);
    const headers = { "Sec-Fetch-Site": "cross-site" };
    expect((await browser.call(BEGIN, { tenantId: tenant.id }, { headers })).status).toBe(403);
    expect((await browser.call(BEGIN, { tenantId: "01900000-0000-7000-8000-000000000000" })).status).toBe(404);
    expect((await browser.call(BEGIN, { tenantId: "x" })).status).toBe(400);
  });
});

describe("cloakroom login --device", () => {
  const home = newDirectory();
  const environment = { XDG_CONFIG_HOME: home };
  const file = join(home, "cloakroom", "config.json");
  const run = (...args: string[]) => cloakroom(environment, ...args);

  /** Runs the command, and confirms the code that it shows. */
  async function login(account: string, ...args: string[]) {
    const child = spawn(process.execPath, ["dist/src/main.js", "login", "--device", "--url", server.url, ...args], {
      env: { PATH: process.env.PATH, ...environment },
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk;
    });
    const page = new Promise<string>((resolve) => {
      child.stderr.on("data", (chunk: Buffer) => {
        stderr += chunk;
        const shown = /Open (\S+)\nCode: /.exec(stderr)?.[1];
        if (shown) resolve(shown);
      });
    });
    const ended = once(child, "close");
    await Promise.race([page.then((address) => confirm(address, account)), ended]);
    const [code] = await ended;
    return { code, stdout, stderr };
  }

  it("signs a person in under the person's role, until logout", async () => {
    await invite("grace", "AUDITOR");
    const { code, stdout } = await login("grace", "--tenant", tenant.id, "--json");
    expect({ code, shown: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      shown: { profile: "default", tenant_id: tenant.id, email: "grace@example.com", role: "AUDITOR" },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const saved = JSON.parse(readFileSync(file, "utf8")).default;
    expect(saved).toEqual({ url: server.url, sign_in: expect.stringMatching(/^cloakroom-sign-in-\w+=sgn_\w+$/) });
    expect(stdout).not.toContain("sgn_");

    const who = await run("whoami", "--json");
    expect(JSON.parse(who.stdout)).toMatchObject({ role: "AUDITOR", sign_in_from: "profile default" });
    expect((await run("apps", "list", "--json")).code).toBe(0);
    const denied = await run("apps", "create", "--name", "Shop", "--type", "public", "--permission", "token:create");
    expect({ code: denied.code, stderr: denied.stderr }).toEqual({
      code: 6,
      stderr: expect.stringContaining("Your role AUDITOR may not call ApplicationService/CreateApplication"),
    });
    const withKey = { ...environment, CLOAKROOM_API_KEY: tenant.managementKey };
    expect((await cloakroom(withKey, "members", "list", "--profile", "default", "--query", "[].role")).code).toBe(0);
    expect((await run("whoami", "--url", "http://127.0.0.1:9")).stderr).toContain("sign-in of profile default is for");

    expect((await run("logout")).code).toBe(0);
    expect(readFileSync(file, "utf8")).not.toContain("sgn_");
    const headers = { Cookie: saved.sign_in };
    const after = await new TestBrowser(server.url).call("SignInService/WhoAmI", {}, { headers });
    expect(after.status).toBe(401);
  });

  it("saves nothing for a person who is not invited, and says why", async () => {
    const { code, stderr } = await login("mallory", "--tenant", tenant.id, "--profile", "other");
    expect({ code, stderr }).toMatchObject({ code: 6, stderr: expect.stringContaining("You are not a member") });
    expect((await run("whoami", "--profile", "other")).stderr).toContain("There is no profile other");
  });

  it.each([
    [["--with-key"], 2, "cannot be combined"],
    [["--tenant", "x"], 1, "tenant"],
    [["--url", "http://vault.example.com"], 2, "given twice"],
  ])("%j ends with %i", async (args, code, message) => {
    const result = await login("ada", ...args);
    expect(result).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(message) });
  });

  it("logout removes the profile also where the vault does not respond, and says that the sign-in is not ended", async () => {
    const other = newDirectory();
    const profiles = join(other, "cloakroom", "config.json");
    mkdirSync(join(other, "cloakroom"));
    writeFileSync(profiles, '{"default":{"url":"http://127.0.0.1:9","sign_in":"a=b"}}', { mode: 0o600 });
    const { code, stderr } = await cloakroom({ XDG_CONFIG_HOME: other }, "logout");
    expect({ code, stderr }).toEqual({ code: 8, stderr: expect.stringContaining("ends by itself") });
    expect(readFileSync(profiles, "utf8")).toBe("{}\n");
  });

  it("says where people cannot sign in like this", async () => {
    const away = await cloakroom(environment, "login", "--device", "--url", "http://127.0.0.1:9");
    expect({ code: away.code, stderr: away.stderr }).toEqual({ code: 8, stderr: expect.stringContaining("reached") });
    const insecure = await cloakroom(environment, "login", "--device", "--url", "http://vault.example.com");
    expect({ code: insecure.code, stderr: insecure.stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("https"),
    });
  });
});
