// Waits: 8 s
import { rmSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { Agent, request } from "node:https";
import { dirname, join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Authority, createAuthority, type Identity } from "../../egress/certificates.js";
import { cloakroom } from "../../support/command.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";

describe("a certificate that is renewed under load", () => {
  let authority: Authority;
  let server: ServerHere;
  let files: { readonly cert: string; readonly key: string };
  let environment: Record<string, string>;
  let first: Identity;
  const issue = (daysValid?: number) => authority.issue(["localhost"], ["127.0.0.1"], daysValid);
  const names = { TLS_CERT_FILE: "{directory}/server.pem", TLS_KEY_FILE: "{directory}/server.key" };
  beforeAll(async () => {
    authority = await createAuthority();
    first = await issue();
    server = await startServerHere(names, { files: { "server.pem": first.cert, "server.key": first.key } });
    const directory = dirname(server.environment.CLOAKROOM_DATA_DIR ?? "");
    files = { cert: join(directory, "server.pem"), key: join(directory, "server.key") };
    environment = { ...server.environment };
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const doctor = async () => JSON.parse((await cloakroom(environment, "doctor", "--json")).stdout);
  const replace = ({ cert, key }: Identity) => {
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
  };

  /** The certificate of a new handshake, in PEM. */
  function presented(ALPNProtocols: string[] = ["http/1.1"]): Promise<string> {
    return new Promise((resolve, reject) => {
      const port = Number(new URL(server.url).port);
      const socket = tlsConnect({ host: "127.0.0.1", port, ca: authority.pem, ALPNProtocols }, () => {
        resolve(socket.getPeerX509Certificate()?.toString().trim() ?? "none");
        socket.destroy();
      });
      socket.once("error", reject);
    });
  }

  it("is presented to new connections, while those that are open go on without a failure", async () => {
    const session = connect(server.url, { ca: authority.pem });
    const agent = new Agent({ ca: authority.pem, keepAlive: true, maxSockets: 1 });
    const sockets = new Set();
    const overHttp1 = () =>
      new Promise<number>((resolve, reject) => {
        const sent = request(`${server.url}/healthz`, { agent }, (response) => {
          sockets.add(response.socket);
          response.resume().once("end", () => resolve(response.statusCode ?? 0));
        });
        sent.once("error", reject).end();
      });
    const overHttp2 = () =>
      new Promise<number>((resolve, reject) => {
        const stream = session.request({ ":path": "/healthz" });
        stream.once("response", (headers) => resolve(headers[":status"] ?? 0));
        stream.once("error", reject).resume();
      });
    const overNewConnection = () => presented().then(() => 200);
    const stopping = new AbortController();
    const statuses: number[] = [];
    const callers = [overHttp1, overHttp2, overNewConnection].map(async (call) => {
      while (!stopping.signal.aborted) statuses.push(await call());
    });
    const renewed = await issue(0.5);
    replace(renewed);
    await vi.waitFor(async () => expect(await presented()).toBe(renewed.cert.trim()));
    const seen = statuses.length;
    await vi.waitFor(() => expect(statuses.length).toBeGreaterThan(seen + 20));
    stopping.abort();
    await Promise.all(callers);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(sockets.size).toBe(1);
    session.close();
    agent.destroy();
    expect(await presented(["h2"])).toBe(renewed.cert.trim());
    expect(server.said()).toContain("the certificate of the API port was renewed");
    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
    const end = Number(/^cloakroom_tls_certificate_expiry_timestamp_seconds (\S+)$/m.exec(metrics)?.[1]);
    expect(end * 1_000).toBeLessThan(Date.now() + 86_400_000 * 0.6);
  });

  it("is not taken where it is broken, which the log and doctor say, until the files are mended", async () => {
    expect(await doctor()).toMatchObject({ healthy: true });
    const before = await presented();
    const next = await issue();
    writeFileSync(files.cert, next.cert);
    const refused = "the new certificate of the API port cannot be used: the one before it is still served";
    await vi.waitFor(() => expect(server.said()).toContain(refused));
    expect(await presented()).toBe(before);
    expect(await doctor()).toMatchObject({
      healthy: false,
      problem: expect.stringContaining("must name a certificate and the key that belongs to it"),
    });
    writeFileSync(files.key, next.key);
    await vi.waitFor(async () => expect(await presented()).toBe(next.cert.trim()));
    expect(await doctor()).toMatchObject({ healthy: true });
  });

  it("is a problem for doctor once it has ended, and once its file is gone", async () => {
    replace(await issue(-1));
    expect(await doctor()).toMatchObject({ healthy: false, problem: expect.stringMatching(/ended at .*: renew it/) });
    rmSync(files.cert);
    expect(await doctor()).toMatchObject({ problem: expect.stringContaining(`cannot be read: ${files.cert}`) });
    replace(first);
  });
});
