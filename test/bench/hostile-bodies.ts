import { connect } from "node:net";
import { MAX_NAMES, MAX_VALUES } from "../../src/base/json-structure.js";
import { ServerCounters } from "../support/counters.js";
import type { BenchServer } from "./bench-server.js";
import { tenantPlans } from "./many-tenants.js";
import { say, type Table } from "./table.js";
import { JSON_TYPE, makeApplication } from "./token-requests.js";

const MB = 1024 * 1024;
/** The largest body, less what surrounds its data. */
const SIZE = 5_200_000;
const ROUNDS = 5;
const HELD = 200;
const HELD_ROUNDS = 3;

const repeated = (text: string, count: number) => Array.from({ length: count }, () => text).join(",");
const filled = (text: string) => repeated(text, Math.floor(SIZE / (text.length + 1)) - 20);
const names = (count: number) => Array.from({ length: count }, (_, index) => `"k${index}":1`).join(",");
const token = (data: string) => `{"type":"token","data":${data}}`;

/** The shapes of test/e2e/load/hostile-shapes.test.ts that block the event loop longest. */
const SHAPES: readonly (readonly [string, string, string])[] = [
  ["2.6 million numbers", "/tokens", token(`[${filled("1")}]`)],
  ["400,000 members of one object", "/tokens", token(`{${names(400_000)}}`)],
  ["the same name 800,000 times", "/tokens", token(`{${filled('"a":1')}}`)],
  ["5 MB of opening brackets", "/tokens", "[".repeat(SIZE)],
  ["5 MB of opening objects", "/tokens", '{"a":'.repeat(SIZE / 5)],
  ["2.6 million containers", "/tokens", `{"type":"token","data":1,"containers":[${filled("1")}]}`],
  ["300,000 metadata entries", "/tokens", `{"type":"token","data":1,"metadata":{${names(300_000)}}}`],
  ["leaves below a name of 100 KB", "/tokenize", `{"${"k".repeat(100_000)}":[${repeated("1", 40_000)}]}`],
  ["40,000 inexact numbers", "/tokens", token(`[${repeated("1234567890123456789", 40_000)}]`)],
  ["as many values as may be", "/tokens", token(`[${repeated("1", MAX_VALUES - 10)}]`)],
  ["as many names as may be", "/tokens", token(`{${names(MAX_NAMES - 10)}}`)],
  ["a text of 5 MB", "/tokens", token(`"${"x".repeat(SIZE)}"`)],
  ["a text of 5 MB in quotes", "/tokens", token(`"${'\\"'.repeat(SIZE / 2)}"`)],
  ["the same to be detokenized", "/detokenize", `"${'\\"'.repeat(SIZE / 2)}"`],
];

/** Prints for each shape the longest processor time for which one such body blocked the event loop. */
export async function longestHolds(server: BenchServer): Promise<void> {
  const counters = new ServerCounters({ adminUrl: server.adminUrl(), process: server });
  const key = await makeApplication(server, server.managementKey);
  const holds: number[] = [];
  for (const [name, path, body] of SHAPES) {
    const send = () =>
      fetch(`http://${server.host}:${server.port}${path}`, {
        method: "POST",
        headers: { ...JSON_TYPE, "BT-API-KEY": key },
        body,
      }).then((response) => response.text());
    await send();
    const measured: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await counters.longestHold();
      await send();
      measured.push(await counters.longestHold());
    }
    holds.push(...measured);
    say(`hold of the event loop by ${name}, ${path}: at most ${Math.max(...measured).toFixed(0)} ms`);
  }
  say(`largest hold of the event loop by one request: ${Math.max(...holds).toFixed(0)} ms`);
}

/**
 * Latency of a tenant's creates while callers without a key and another tenant's key withhold the last bytes of their
 * bodies.
 */
export async function heldBodyRows(table: Table, server: BenchServer): Promise<void> {
  const key = await makeApplication(server, server.managementKey);
  const [plan] = await tenantPlans(server, 1);
  if (!plan) throw new Error("there is nothing to measure");
  const creates = { ...plan, connections: 8 };
  const counters = new ServerCounters({ adminUrl: server.adminUrl(), process: server });
  const ratios: number[] = [];
  for (let round = 0; round < HELD_ROUNDS; round += 1) {
    const calm = await table.measure(server, { ...creates, operation: "POST /tokens (card), another tenant, calm" });
    using _held = holdBodies(server, key);
    const operation = `POST /tokens (card), beside ${HELD} held bodies`;
    ratios.push((await table.measure(server, { ...creates, operation })).p99 / calm.p99);
  }
  ratios.sort((a, b) => a - b);
  const [lowest, middle, highest] = ratios.map((ratio) => ratio.toFixed(2));
  say(`another tenant's p99 during ${HELD} held bodies: ${middle} times calm (${lowest} to ${highest})`);
  say(`resident memory of the server: at most ${counters.peakMemory().toFixed(0)} MB`);
}

/** Sends all but the last byte of this many bodies, with a key and to a path that needs none. */
function holdBodies({ host, port }: BenchServer, key: string): Disposable {
  const sockets = Array.from({ length: HELD }, (_, index) => {
    const isKnown = index % 2 === 0;
    const [path, length] = isKnown ? ["/tokens", 5 * MB] : ["/orchestration/webhooks/nope", MB];
    const headers = isKnown ? `BT-API-KEY: ${key}\r\n` : "";
    const socket = connect(port, host);
    socket.on("error", () => {}).resume();
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Type: application/json\r\n`);
    socket.write(`Content-Length: ${length}\r\n\r\n`);
    socket.write(Buffer.alloc(length - 1, " "));
    return socket;
  });
  return {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
