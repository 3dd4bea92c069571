import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type NameServer, records, startNameServer } from "../../egress/name-server.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, httpResponse, startDestination } from "./support/destination.js";
import { code, makeProxy } from "./support/proxies.js";

/** Makes every resolver of the process query this name server. */
const asking = (address: string) => `
import dns from "node:dns";
dns.promises.Resolver = class extends dns.promises.Resolver {
  constructor(options) { super(options); this.setServers([${JSON.stringify(address)}]); }
};
`;

// 127.0.0.2 plays a public address: the operator allows it, and the rest of the loopback network stays closed.
describe("a destination whose name leads to this machine from its second look-up on", () => {
  let names: NameServer;
  let server: ServerProcess;
  let tenant: TestTenant;
  let partner: Destination;
  let inside: Destination;

  beforeAll(async () => {
    names = await startNameServer();
    server = await startServerProcess({ EGRESS_ALLOW: "127.0.0.2" }, {}, undefined, asking(names.address));
    tenant = await firstTenant(server);
    // Each call opens its own connection, and therefore looks the name up.
    const once = (body: string) => httpResponse("200 OK", ["Connection: close"], body);
    const say = (body: string) => (socket: { end(bytes: Buffer): void }) => void socket.end(once(body));
    partner = await startDestination(say("the partner"), undefined, { host: "127.0.0.2", port: 0 });
    inside = await startDestination(say("the inside"), undefined, { host: "127.0.0.1", port: partner.port });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await Promise.all([partner[Symbol.asyncDispose](), inside[Symbol.asyncDispose](), names.close()]);
  });

  const rebinding = (name: string) => {
    names.respond(name, records("127.0.0.2"), records("127.0.0.1"));
    return `http://${name}:${partner.port}`;
  };

  it("is rejected by a proxy that was created while the name was good", async () => {
    const { key } = await makeProxy(tenant, { destination_url: rebinding("proxy.example.com") });
    const caller = await tenant.backEnd();
    const call = () => caller("GET", "/proxy/secrets", { headers: { "BT-PROXY-KEY": key } });
    expect(await call()).toMatchObject({ status: 200, body: "the partner" });
    const refused = await call();
    expect([refused.status, refused.body.proxy_error.code]).toEqual([502, "destination_unreachable"]);
    expect(refused.body.proxy_error.detail).toBe("The destination must not be a loopback address.");
    expect(inside.opened).toBe(0);
  });

  it("is rejected if a caller names it", async () => {
    const caller = await tenant.backEnd();
    const headers = { "BT-PROXY-URL": rebinding("ephemeral.example.com") };
    expect((await caller("GET", "/proxy", { headers })).body).toBe("the partner");
    expect((await caller("GET", "/proxy", { headers })).status).toBe(502);
    expect(inside.opened).toBe(0);
  });

  it("is rejected if code fetches it", async () => {
    const url = rebinding("code.example.com");
    const { key } = await makeProxy(tenant, {
      destination_url: `http://127.0.0.2:${partner.port}`,
      request_transform: code(
        `const first = await (await fetch('${url}')).text(); let second; try { second = await (await fetch('${url}')).text(); } catch (error) { second = error.message; } return { headers: {}, body: first + ', then ' + second };`,
      ),
    });
    const caller = await tenant.backEnd();
    const { status } = await caller("POST", "/proxy", {
      raw: "x",
      headers: { "BT-PROXY-KEY": key, "Content-Type": "text/plain" },
    });
    expect(status).toBe(200);
    const told = partner.last().body.toString();
    expect(told).toMatch(/^the partner, then .*loopback/);
    expect(inside.opened).toBe(0);
  });
});
