import { createHash } from "node:crypto";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { dropUnreadBody } from "../../../src/api/connection/unread-body.js";
import { CallerTurns, runFor } from "../../../src/base/caller-turns.js";

const HELD = 20;

/** Takes several times as long as the main thread works without a look at its sockets: at least 2 ms. */
const work = () => createHash("sha256").update(Buffer.alloc(4_000_000)).digest();

it("lets others have their turns where many held bodies end at once", async () => {
  const requests = Array.from({ length: HELD }, () => new IncomingMessage(new Socket()));
  const events: string[] = [];
  const refused = requests.map((request) =>
    runFor(new CallerTurns(() => ({ kind: "network", name: "192.0.2.0/24" })), async () => {
      await dropUnreadBody(request);
      events.push("refused");
      work();
    }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  for (const request of requests) setImmediate(() => request.emit("close"));
  const look = () => {
    events.push("look");
    if (events.filter((event) => event === "refused").length < HELD) setImmediate(look);
  };
  setImmediate(look);
  await Promise.all(refused);
  // One runs at once. The others wait, and the sockets are looked at after each.
  expect(events.filter((event) => event === "look").length).toBeGreaterThanOrEqual(HELD - 1);
});
