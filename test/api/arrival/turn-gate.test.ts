import { beforeEach, describe, expect, it } from "vitest";
import { TurnGate } from "../../../src/api/arrival/turn-gate.js";
import type { ArrivedRequest } from "../../../src/api/connection/exchange.js";
import { newTenantId } from "../../../src/base/ids.js";
import { ProcessorTurns, TURN_MS } from "../../../src/base/processor-turns.js";

const tenantId = newTenantId();

let now: number;
let steps: (() => void)[];
let gate: TurnGate;
let served: string[];
beforeEach(() => {
  now = 0;
  steps = [];
  served = [];
  const turns = new ProcessorTurns({ now: () => now, soon: (step) => steps.push(step) });
  const callers = { tenantOf: (key: string) => (key === "known" ? tenantId : undefined) };
  gate = new TurnGate(callers, ({ socket }) => socket.remoteAddress ?? "", turns);
});

const requestOf = (address: string, key?: string): ArrivedRequest => ({
  httpVersionMajor: 1,
  headers: key === undefined ? {} : { "bt-api-key": key },
  rawHeaders: [],
  socket: { remoteAddress: address },
  complete: true,
});

function send(name: string, request: ArrivedRequest, response = { destroyed: false }): boolean {
  const caller = gate.callerOf(request);
  const hasSlot = gate.hasSlot(caller);
  if (hasSlot) gate.enter(caller, response, () => served.push(name));
  return hasSlot;
}

/** Keeps the thread busy: what is sent next has to wait. */
function keepBusy(): void {
  send("busy", requestOf("192.0.2.99"));
  now += TURN_MS;
}

async function serveAll(): Promise<void> {
  while (steps.length > 0) {
    const present = steps;
    steps = [];
    for (const step of present) {
      step();
      await Promise.resolve();
      await Promise.resolve();
    }
  }
}

describe("the gate where requests wait for their first turn", () => {
  it("lets requests through at once while there is room", () => {
    send("one", requestOf("192.0.2.1"));
    send("other", requestOf("192.0.2.2", "known"));
    expect(served).toEqual(["one", "other"]);
  });

  it("counts a request for the tenant of a known key, and for its network with any other key", () => {
    const flowOf = (address: string, key?: string) => gate.callerOf(requestOf(address, key)).flow();
    expect(flowOf("192.0.2.1", "known")).toEqual({ kind: "tenant", name: tenantId });
    expect(flowOf("192.0.2.1", "key_of_that_tenant_made_up")).toEqual({ kind: "network", name: "192.0.2.1" });
    expect(flowOf("192.0.2.1")).toEqual({ kind: "network", name: "192.0.2.1" });
  });

  it("drops a waiting request when its caller disconnects", async () => {
    keepBusy();
    const response = { destroyed: false };
    send("gone", requestOf("192.0.2.1"), response);
    send("stays", requestOf("192.0.2.1"));
    response.destroyed = true;
    await serveAll();
    expect(served).toEqual(["busy", "stays"]);
  });

  it("always has a place for a newcomer, however many requests of others wait", async () => {
    keepBusy();
    let refused = 0;
    for (let n = 0; n < 12_000; n += 1) if (!send("flood", requestOf("192.0.2.1"))) refused += 1;
    expect(refused).toBeGreaterThan(0);
    expect(send("tenant", requestOf("192.0.2.1", "known"))).toBe(true);
    expect(send("other network", requestOf("192.0.2.2"))).toBe(true);
    await serveAll();
    expect(served.filter((name) => name === "flood")).toHaveLength(12_000 - refused);
  });
});
