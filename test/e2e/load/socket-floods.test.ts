// Computes: 10 s
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONNECTION_LIMITS } from "../../../src/api/connection/connection-limits.js";
import { ServerCounters } from "../../support/counters.js";
import { newMember } from "../../support/member.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, type TestTenant } from "../../support/tenant.js";
import { nextSignInLink, signInLinks, TestBrowser } from "../../support/test-browser.js";

const { ofAddress, unproven } = CONNECTION_LIMITS.idle;
/** Connections that are opened at a time: the kernel lets 511 wait. */
const AT_ONCE = 200;
/** What 4,096 connections may take, in megabytes: 160 on a quiet machine. */
const MAX_MB = 400;

let server: ServerProcess;
let tenant: TestTenant;
beforeAll(async () => {
  server = await startServerProcess();
  tenant = await firstTenant(server);
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** Addresses of this machine in networks (/24) other than the members', 250 in each. */
const addressOf = (index: number) => `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`;

/** Idle connections, each of which has sent one request. */
class Flood implements Disposable {
  readonly #sockets: { readonly address: string; readonly socket: Socket; isOpen: boolean }[] = [];
  readonly #email: string;

  /** @param email a member's address, for which every second connection asks for a link. */
  constructor(email: string) {
    this.#email = email;
  }

  async open(count: number, addresses: number): Promise<void> {
    for (let first = 0; first < count; first += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, index) => first + index);
      await Promise.all(some.map((index) => this.openOne(addressOf(index % addresses), index)));
    }
  }

  async openOne(localAddress: string, index: number): Promise<void> {
    const { hostname, port } = new URL(server.url);
    const socket = createConnection({ host: hostname, port: Number(port), localAddress });
    const entry = { address: localAddress, socket, isOpen: true };
    this.#sockets.push(entry);
    socket.on("error", () => {});
    socket.once("close", () => {
      entry.isOpen = false;
    });
    const answered = Promise.race([once(socket, "data"), once(socket, "close")]);
    socket.write(index % 2 === 0 ? "GET /healthz HTTP/1.1\r\nHost: vault\r\n\r\n" : this.#askForLink());
    await answered;
    socket.resume();
  }

  #askForLink(): string {
    const body = JSON.stringify({ email: this.#email, tenantId: tenant.id });
    const lines = [
      ...["POST /cloakroom.v1.SignInService/AskForSignInLink HTTP/1.1", "Host: vault", "X-Cloakroom-Console: 1"],
      ...["Sec-Fetch-Site: same-origin", "Content-Type: application/json", `Content-Length: ${body.length}`],
    ];
    return `${lines.join("\r\n")}\r\n\r\n${body}`;
  }

  /** Those that the server has not closed. */
  get count(): number {
    return this.#sockets.filter(({ isOpen }) => isOpen).length;
  }

  /** The open connections of the address that has the most. */
  get mostOfAddress(): number {
    const counts = Object.groupBy(
      this.#sockets.filter(({ isOpen }) => isOpen),
      ({ address }) => address,
    );
    return Math.max(0, ...Object.values(counts).map((open = []) => open.length));
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#sockets) socket.destroy();
  }
}

/** A member asks for a link, and signs in by it. All who ask for an address share a mail until its link is used. */
async function signIn(email: string): Promise<number> {
  const browser = new TestBrowser(server.url);
  const seen = signInLinks(email, server.environment).length;
  await browser.call("SignInService/AskForSignInLink", { email, tenantId: tenant.id });
  const link = await nextSignInLink(email, Math.max(0, seen - 1), server.environment);
  return (await browser.call("SignInService/TakeSignInLink", { link })).status;
}

describe.each([
  { addresses: 1, connections: 600 },
  { addresses: 10, connections: 3_000 },
  { addresses: 1_000, connections: 5_000 },
])("$connections connections from $addresses addresses", ({ addresses, connections }) => {
  it("are bounded, take bounded memory, and keep no member from signing in", async () => {
    const counters = new ServerCounters(server);
    const email = await newMember(tenant, "AUDITOR", server.environment);
    const others = await Promise.all([1, 2, 3].map(() => newMember(tenant, "AUDITOR", server.environment)));
    const before = counters.residentMemory();
    using own = new Flood(email);
    await own.openOne("127.0.0.1", 0);
    using flood = new Flood(email);
    const flooding = flood.open(connections, addresses);
    const during = await Promise.all(others.map(signIn));
    await flooding;
    expect(during).toEqual([200, 200, 200]);
    expect(await signIn(email), "the member whose address the flood used").toBe(200);
    // Connections that have waited for a second are closed when the next one of their address arrives.
    await expect
      .poll(async () => {
        await flood.open(addresses === 1_000 ? 4 : addresses, addresses);
        return flood.mostOfAddress;
      })
      .toBeLessThanOrEqual(ofAddress);
    // The ends of the last ones may still be on their way.
    await expect.poll(() => flood.count).toBeLessThanOrEqual(unproven);
    expect(counters.peakMemory() - before).toBeLessThan(MAX_MB);
    expect(own.count, "the idle connection of another network").toBe(1);
  });
});
