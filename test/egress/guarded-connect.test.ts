import https from "node:https";
import { text } from "node:stream/consumers";
import tls, { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { EgressError, systemErrorCode } from "../../src/egress/egress-error.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { createGuardedAgents, type GuardedAgentOptions, type GuardedAgents } from "../../src/egress/guarded-agents.js";
import { guardedRequest } from "../../src/egress/guarded-request.js";
import { resolveOver } from "../../src/egress/resolve-name.js";
import { type Authority, createAuthority } from "./certificates.js";
import { type NameServer, records, startNameServer } from "./name-server.js";
import { closeServers, serveHttp, serveHttps, serveRaw } from "./servers.js";

let names: NameServer;
let authority: Authority;
const made: GuardedAgents[] = [];
/** The decisions since the test began, in order. */
const decisions: string[] = [];

beforeAll(async () => {
  names = await startNameServer();
  authority = await createAuthority();
});

afterEach(async () => {
  for (const agents of made.splice(0)) agents.close();
  decisions.length = 0;
  await closeServers();
});

afterAll(() => names.close());

function agentsFor(allow: string, options: GuardedAgentOptions = {}): GuardedAgents {
  const agents = createGuardedAgents(new EgressPolicy({ allow }), {
    resolve: resolveOver(names.resolver({ timeout: 2_000, tries: 1 })),
    ca: [authority.pem],
    onDecision: ({ reason }) => decisions.push(reason),
    ...options,
  });
  made.push(agents);
  return agents;
}

/** The response's body, or the reason and the certainty of the call's failure. */
async function call(agents: GuardedAgents, url: string, pool = "tenant"): Promise<unknown> {
  try {
    const { body } = await guardedRequest(agents, { url, method: "GET", headers: [], pool });
    return await text(body);
  } catch (error) {
    return error instanceof EgressError ? [error.reason, error.delivery] : error;
  }
}

const questionsAbout = (name: string) => names.questions.filter((question) => question.endsWith(` ${name}`)).sort();

describe("a name", () => {
  it("is resolved once, and the address that was checked is the one dialled", async () => {
    const server = await serveHttp((_, response) => response.end("hello"), "0.0.0.0");
    names.respond("once.example", records("127.0.0.2"), records("127.0.0.3"));
    const agents = agentsFor("127.0.0.2");
    expect(await call(agents, `http://once.example:${server.port}/`)).toBe("hello");
    expect(server.connections.map(({ localAddress }) => localAddress)).toEqual(["127.0.0.2"]);
    expect(questionsAbout("once.example")).toEqual(["A once.example", "AAAA once.example"]);
    expect(decisions).toEqual(["operator_allowed"]);
  });

  it("is checked again if it leads elsewhere on the next connection", async () => {
    const server = await serveHttp((_, response) => response.end("hello"), "0.0.0.0");
    names.respond("rebind.example", records("127.0.0.2"), records("127.0.0.1"));
    const agents = agentsFor("127.0.0.2,127.0.0.1:1");
    const url = `http://rebind.example:${server.port}/`;
    expect(await call(agents, url, "first")).toBe("hello");
    expect(await call(agents, url, "second")).toEqual(["loopback", "not_sent"]);
    expect(server.connections.length).toBe(1);
    expect(decisions).toEqual(["operator_allowed", "loopback"]);
  });

  it("does not affect a connection that is already open if it leads elsewhere", async () => {
    const server = await serveHttp((_, response) => response.end("hello"), "0.0.0.0");
    names.respond("kept.example", records("127.0.0.2"), records("169.254.169.254"));
    const agents = agentsFor("127.0.0.2");
    const url = `http://kept.example:${server.port}/`;
    expect([await call(agents, url), await call(agents, url)]).toEqual(["hello", "hello"]);
    expect(server.connections.length).toBe(1);
    expect(questionsAbout("kept.example").length).toBe(2);
  });

  it.each([
    ["one bad IPv4 address", ["127.0.0.2", "10.0.0.1"], "private"],
    ["the bad one first", ["192.168.0.1", "127.0.0.2"], "private"],
    ["a bad IPv6 address", ["127.0.0.2", "::1"], "loopback"],
    ["a mapped address", ["127.0.0.2", "::ffff:127.0.0.2"], "transition"],
    ["the metadata service", ["127.0.0.2", "169.254.169.254"], "metadata"],
    ["a good public and a bad address", ["93.184.215.14", "127.0.0.1"], "loopback"],
  ])("with %s is rejected as a whole", async (_, addresses, reason) => {
    const server = await serveHttp((_request, response) => response.end("hello"), "0.0.0.0");
    names.respond("mixed.example", records(...addresses));
    const url = `https://mixed.example:${server.port}/`;
    expect(await call(agentsFor("127.0.0.2"), url)).toEqual([reason, "not_sent"]);
    expect(server.connections).toEqual([]);
    expect(decisions).toEqual([reason]);
  });

  it("is checked by the target of its alias", async () => {
    names.respond("alias.example", { kind: "records", addresses: ["10.1.2.3"], alias: "inner.example" });
    expect(await call(agentsFor(""), "https://alias.example/")).toEqual(["private", "not_sent"]);
  });

  it.each([
    ["missing.example", { kind: "nxdomain" }, "name_not_found"],
    ["noaddress.example", records(), "name_not_found"],
    ["broken.example", { kind: "servfail" }, "name_failed"],
    ["mute.example", { kind: "silence" }, "name_timeout"],
  ] as const)("%s fails without a connection", async (name, response, reason) => {
    names.respond(name, response);
    const agents = agentsFor("", { nameTimeoutMs: 800 });
    expect(await call(agents, `https://${name}/`)).toEqual([reason, "not_sent"]);
    expect(decisions).toEqual([]);
  });

  it("is rejected if a resolver responds with something other than addresses", async () => {
    const agents = agentsFor("127.0.0.2", { resolve: async () => ["127.0.0.2", "0x7f.1"] });
    expect(await call(agents, "https://odd.example/")).toEqual(["not_an_address", "not_sent"]);
  });

  it("delays no other if it never resolves", async () => {
    const server = await serveHttp((_, response) => response.end("hello"));
    names.respond("stuck.example", { kind: "silence" });
    names.respond("quick.example", records("127.0.0.1"));
    const agents = agentsFor("127.0.0.1", { nameTimeoutMs: 1_500 });
    const stuck = Array.from({ length: 20 }, () => call(agents, `http://stuck.example:${server.port}/`));
    let settled = 0;
    for (const attempt of stuck) void attempt.then(() => settled++);
    expect(await call(agents, `http://quick.example:${server.port}/`)).toBe("hello");
    expect(settled).toBe(0);
    expect(new Set(await Promise.all(stuck.map(async (attempt) => String(await attempt))))).toEqual(
      new Set(["name_timeout,not_sent"]),
    );
  });

  it("has its addresses tried in turn", async () => {
    const server = await serveHttp((_, response) => response.end("hello"), "127.0.0.4");
    names.respond("several.example", records("127.0.0.2", "127.0.0.3", "127.0.0.4"));
    const agents = agentsFor("127.0.0.0/8");
    expect(await call(agents, `http://several.example:${server.port}/`)).toBe("hello");
    names.respond("closed.example", records("127.0.0.2", "127.0.0.3"));
    expect(await call(agents, `http://closed.example:${server.port}/`)).toEqual(["connect_failed", "not_sent"]);
  });
});

describe("an address", () => {
  it.each([
    ["http://127.0.0.1:8080/", "loopback"],
    ["https://[::1]/", "loopback"],
    ["https://2852039166/", "metadata"],
  ])("%s is rejected and counted", async (url, reason) => {
    expect(await call(agentsFor(""), url)).toEqual([reason, "not_sent"]);
    expect(decisions).toEqual([reason]);
  });

  it("is abandoned before a byte is sent if it connects to another one", async () => {
    // Linux connects 0.0.0.0 to the loopback address: the checked address differs from the peer's.
    const server = await serveRaw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    expect(await call(agentsFor("0.0.0.0"), `http://0.0.0.0:${server.port}/`)).toEqual(["wrong_peer", "not_sent"]);
    expect(await call(agentsFor("0.0.0.0"), `https://0.0.0.0:${server.port}/`)).toEqual(["wrong_peer", "not_sent"]);
    expect(server.received()).toBe("");
  });
});

describe("TLS", () => {
  const greet = (_: unknown, response: { end(text: string): void }) => response.end("hello");

  it("is verified against the name in the URL, which is also sent as SNI", async () => {
    const asked: string[] = [];
    const identity = await authority.issue(["secure.example"]);
    const server = await serveHttps(
      {
        ...identity,
        SNICallback: (servername, done) => {
          asked.push(servername);
          done(null);
        },
      },
      greet,
    );
    names.respond("secure.example", records("127.0.0.1"));
    expect(await call(agentsFor("127.0.0.1"), `https://secure.example:${server.port}/`)).toBe("hello");
    expect(await call(agentsFor("127.0.0.1"), `https://SECURE.example.:${server.port}/`)).toBe("hello");
    expect(asked).toEqual(["secure.example", "secure.example"]);
  });

  it("is verified against the address if the URL has one", async () => {
    const named = await serveHttps(await authority.issue(["secure.example"]), greet);
    const addressed = await serveHttps(await authority.issue([], ["127.0.0.1"]), greet);
    const agents = agentsFor("127.0.0.1");
    expect(await call(agents, `https://127.0.0.1:${addressed.port}/`)).toBe("hello");
    expect(await call(agents, `https://127.0.0.1:${named.port}/`)).toEqual(["certificate_invalid", "not_sent"]);
  });

  it.each([
    ["of another name", () => authority.issue(["other.example"])],
    ["that has expired", () => authority.issue(["secure.example"], [], -1)],
    ["of an unknown authority", async () => (await createAuthority()).issue(["secure.example"])],
  ])("rejects a certificate %s, and the server sees no request", async (_, identity) => {
    const server = await serveHttps(await identity(), greet);
    names.respond("secure.example", records("127.0.0.1"));
    const url = `https://secure.example:${server.port}/`;
    expect(await call(agentsFor("127.0.0.1"), url)).toEqual(["certificate_invalid", "not_sent"]);
    expect(server.received()).toBe("");
  });

  it("verifies even if the environment switches that off", async () => {
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const server = await serveHttps(await authority.issue(["other.example"]), greet);
      names.respond("secure.example", records("127.0.0.1"));
      const outcome = await call(agentsFor("127.0.0.1"), `https://secure.example:${server.port}/`);
      expect(outcome).toEqual(["certificate_invalid", "not_sent"]);
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  it("verifies every connection, also to a server that issues session tickets", async () => {
    const reused: boolean[] = [];
    const server = await serveHttps(await authority.issue(["secure.example"]), (request, response) => {
      reused.push(request.socket instanceof TLSSocket && request.socket.isSessionReused());
      response.setHeader("Connection", "close").end("hello");
    });
    names.respond("secure.example", records("127.0.0.1"));
    const agents = agentsFor("127.0.0.1");
    const url = `https://secure.example:${server.port}/`;
    expect([await call(agents, url), await call(agents, url)]).toEqual(["hello", "hello"]);
    expect(reused).toEqual([false, false]);
  });

  it("needs 1.2 or later, even if Node was started with --tls-min-v1.0", async () => {
    const identity = await authority.issue(["secure.example"]);
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
    const eleven = await serveHttps({ ...identity, ...old }, greet);
    const twelve = await serveHttps({ ...identity, maxVersion: "TLSv1.2" }, greet);
    names.respond("secure.example", records("127.0.0.1"));
    const agents = agentsFor("127.0.0.1");
    const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
    tls.DEFAULT_MIN_VERSION = "TLSv1";
    tls.DEFAULT_CIPHERS = "DEFAULT@SECLEVEL=0";
    try {
      expect(await call(agents, `https://secure.example:${eleven.port}/`)).toEqual(["tls_failed", "not_sent"]);
      expect(await call(agents, `https://secure.example:${twelve.port}/`)).toBe("hello");
    } finally {
      Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS });
    }
  });

  it("may be slow once it is set up", async () => {
    const server = await serveHttps(await authority.issue(["secure.example"]), (_, response) => {
      setTimeout(() => response.end("late"), 1_200);
    });
    names.respond("secure.example", records("127.0.0.1"));
    const agents = agentsFor("127.0.0.1", { connectTimeoutMs: 1_000 });
    expect(await call(agents, `https://secure.example:${server.port}/`)).toBe("late");
  });

  it("fails unsent with a server that speaks something else, hangs up or says nothing", async () => {
    const plain = await serveRaw("HTTP/1.1 400 Bad Request\r\n\r\n");
    const rude = await serveRaw((socket) => socket.destroy());
    const mute = await serveRaw(() => {});
    const agents = agentsFor("127.0.0.1", { connectTimeoutMs: 1_000 });
    expect(await call(agents, `https://127.0.0.1:${plain.port}/`)).toEqual(["tls_failed", "not_sent"]);
    expect(await call(agents, `https://127.0.0.1:${rude.port}/`)).toEqual(["tls_failed", "not_sent"]);
    expect(await call(agents, `https://127.0.0.1:${mute.port}/`)).toEqual(["connect_timeout", "not_sent"]);
  });
});

describe("agents used without guardedRequest", () => {
  const attempt = (options: https.RequestOptions) =>
    new Promise<unknown>((resolve) => {
      const request = https.request(options, (response) => resolve(response.resume().statusCode));
      request.once("error", (error) => resolve(error instanceof EgressError ? error.reason : systemErrorCode(error)));
      request.end();
    });

  it("let the request's options decide neither the address nor the trusted certificates", async () => {
    const server = await serveHttps(await authority.issue(["other.example"]), (_, response) => response.end());
    names.respond("inner.example", records("10.0.0.1"));
    names.respond("secure.example", records("127.0.0.1"));
    const { https: agent } = agentsFor(`127.0.0.1:${server.port}`);
    const elsewhere = {
      lookup: (_: string, __: unknown, done: (error: null, address: string, family: number) => void) =>
        done(null, "127.0.0.1", 4),
      socketPath: "/var/run/docker.sock",
    };
    const { port } = server;
    expect(await attempt({ agent, host: "inner.example", port, ...elsewhere })).toBe("private");
    expect(await attempt({ agent, host: "10.0.0.1", port, ...elsewhere })).toBe("private");
    expect(await attempt({ agent, host: "0x7f.1", port })).toBe("host");
    expect(
      await attempt({
        agent,
        host: "secure.example",
        port,
        servername: "other.example",
        rejectUnauthorized: false,
        checkServerIdentity: () => undefined,
      }),
    ).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
    expect(server.received()).toBe("");
    expect(await attempt({ agent, host: "OTHER.example", port })).toBe("name_not_found");
    names.respond("other.example", records("127.0.0.1"));
    expect(await attempt({ agent, host: "OTHER.example", port })).toBe(200);
  });
});
