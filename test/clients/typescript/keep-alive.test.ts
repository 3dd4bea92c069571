import { once } from "node:events";
import type { Http2Session } from "node:http2";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Cloakroom } from "../../../clients/typescript/src/node.js";
import { errorOf } from "./support/error-of.js";
import { http2 } from "./support/gates.js";

/** ENHANCE_YOUR_CALM of HTTP/2. */
const CALM = 11;

// Only the interval of the PINGs is advanced by hand; connections and limits keep their own time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A client of a server that refuses each call. `call` returns the session that the call arrived on. */
async function connected() {
  let session: Http2Session | undefined;
  const gate = await http2((stream) => {
    session = stream.session;
    const headers = { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "5" };
    stream.respond(headers, { endStream: true });
  });
  const client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key" });
  return {
    gate,
    client,
    async call() {
      expect((await errorOf(client.tokens.get("x"))).code).toBe("not_found");
      if (!session) throw new Error("no call arrived");
      return session;
    },
  };
}

it("sends a PING on an idle connection every 30 seconds", async () => {
  const { gate, client, call } = await connected();
  await using _ = gate;
  await using __ = client;
  const session = await call();
  for (let count = 0; count < 2; count += 1) {
    const ping = once(session, "ping");
    vi.advanceTimersByTime(30_000);
    await ping;
    // Its response arrives before that of a later call.
    await call();
  }
});

it("sends half as many to a server that asks for fewer", async () => {
  const { gate, client, call } = await connected();
  await using _ = gate;
  await using __ = client;
  const first = await call();
  first.goaway(CALM);
  await vi.waitFor(async () => expect(await call()).not.toBe(first));
  const session = await call();
  let pings = 0;
  session.on("ping", () => {
    pings += 1;
  });
  const begun = once(session, "ping");
  vi.advanceTimersByTime(59_000);
  // The call comes behind a PING that was sent before it.
  await call();
  expect(pings).toBe(0);
  vi.advanceTimersByTime(1_000);
  await begun;
});
