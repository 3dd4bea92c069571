import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { TenantId } from "../../src/base/ids.js";
import { logDeliveryJob } from "../../src/jobs/log-delivery.js";
import { FileSink } from "../../src/sinks/file-sink.js";
import { OtlpSink } from "../../src/sinks/otlp-sink.js";
import { OutputSink } from "../../src/sinks/output-sink.js";
import type { LogSink } from "../../src/sinks/sink.js";
import { SyslogSink } from "../../src/sinks/syslog-sink.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

let ledger: Ledger;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  ledger = await openLedger();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

const later = (minutes: number) => {
  ledger.clock.time += minutes * MINUTE;
};

function sendingTo(sink: LogSink) {
  const [states, failed]: [(string | undefined)[], unknown[]] = [[], []];
  const job = logDeliveryJob({
    ...{ database: ledger.database, clock: ledger.clock, sink },
    onLag: () => {},
    onState: (_, problem) => states.push(problem),
    onFailure: (_, error) => failed.push(error),
  });
  return { job, states, failed, run: (signal = new AbortController().signal) => job.run(signal) };
}

async function sealedTenant(sink: "file" | "syslog" | "otlp", rows = 2): Promise<TenantId> {
  const tenantId = await ledger.newTenant();
  await seal(tenantId, sink, rows);
  return tenantId;
}

async function seal(tenantId: TenantId, sink: "file" | "syslog" | "otlp", rows: number): Promise<void> {
  later(1);
  await ledger.log(tenantId, rows);
  later(3);
  const { database, keyring, history } = ledger;
  expect((await ledger.runJob({ server: { database, keyring, history, sinks: [sink] } })).failed).toEqual([]);
}

const outagesIn = (tenantId: TenantId) =>
  ledger.rows<{ entity_id: string; operation: string; outcome: string; message: string }>(
    tenantId,
    "select entity_id, operation, outcome, message from audit_logs where operation in ('pause', 'resume') order by created_at, id",
  );

describe("an outage of a sink", () => {
  it("has a row when it begins and one when it ends, after a quarter of an hour", async () => {
    const folder = await mkdtemp(join(tmpdir(), "outage-"));
    await writeFile(join(folder, "no-folder"), "");
    const tenantId = await sealedTenant("file");
    const broken = sendingTo(new FileSink({ path: join(folder, "no-folder", "log"), bytes: 1e9 }));
    await broken.run();
    expect(await outagesIn(tenantId)).toEqual([]);
    later(16);
    await broken.run();
    await broken.run();
    await broken.job.end?.();
    // Another process sees the same outage.
    const again = sendingTo(new FileSink({ path: join(folder, "no-folder", "log"), bytes: 1e9 }));
    await again.run();
    await again.job.end?.();
    const began = {
      ...{ entity_id: "file", operation: "pause", outcome: "failed" },
      message: expect.stringMatching(/^Log paused: the sink file has failed since \d{4}-\d\d-\d\dT[\d:.]+Z$/),
    };
    expect(await outagesIn(tenantId)).toEqual([began]);
    const working = sendingTo(new FileSink({ path: join(folder, "log"), bytes: 1e9 }));
    await working.run();
    await working.run();
    await working.job.end?.();
    expect(await outagesIn(tenantId)).toEqual([
      began,
      {
        ...{ entity_id: "file", operation: "resume", outcome: "allowed" },
        message: expect.stringMatching(/^Log resumed: the sink file works again; it had failed since \d{4}/),
      },
    ]);
    expect([...broken.failed, ...again.failed, ...working.failed]).toEqual([]);
  });
});

describe("an outage of sealing", () => {
  it("has a row when it begins and one when it ends", async () => {
    const tenantId = await sealedTenant("file");
    later(1);
    await ledger.log(tenantId, 1);
    await ledger.stored.owner`alter table audit_seals add constraint full_disk check (number < 2) not valid`;
    later(3);
    expect((await ledger.runJob()).failed).toHaveLength(1);
    expect(await outagesIn(tenantId)).toEqual([]);
    later(16);
    expect((await ledger.runJob()).failed).toHaveLength(1);
    expect(await outagesIn(tenantId)).toMatchObject([{ entity_id: "sealing", operation: "pause", outcome: "failed" }]);
    await ledger.stored.owner`alter table audit_seals drop constraint full_disk`;
    later(1);
    expect((await ledger.runJob()).failed).toEqual([]);
    expect(await outagesIn(tenantId)).toMatchObject([{ operation: "pause" }, { operation: "resume" }]);
    later(5);
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    expect((await ledger.verify(tenantId)).findings).toEqual([]);
  });
});

describe("standard output", () => {
  it("gets each row and seal as a line", async () => {
    const output = new PassThrough();
    const read = text(output);
    const tenantId = await sealedTenant("file");
    const sending = sendingTo(new OutputSink(output));
    await sending.run();
    await sending.job.end?.();
    output.end();
    const lines = (await read)
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ tenant_id }) => tenant_id === tenantId);
    expect(lines.map(({ kind }) => kind)).toEqual(["row", "row", "row", "row", "seal", "row", "row", "seal"]);
    expect([sending.states, sending.failed]).toEqual([[], []]);
  });
});

describe("a server that stops", () => {
  /** Stops the job once the sink has sent something to a receiver that does not respond. */
  const aborted = async (sink: LogSink, sent: Promise<unknown>) => {
    const stopping = new AbortController();
    const sending = sendingTo(sink);
    const running = sending.run(stopping.signal);
    await sent;
    stopping.abort();
    await running;
    await sending.job.end?.();
    // Without an abort, each gives up after 10 or 30 s, and reports that.
    expect([sending.states, sending.failed]).toEqual([[], []]);
  };

  it("waits no longer for an OTLP receiver", async () => {
    const server = createServer();
    const asked = once(server, "request");
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(async () => {
      server.closeAllConnections();
      server.close();
    });
    await sealedTenant("otlp");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/logs`;
    await aborted(new OtlpSink({ url, headers: new Map(), onRejected: () => {} }), asked);
  });

  it("waits no longer for a syslog server that does not read", async () => {
    const sockets: Socket[] = [];
    const server = createTcpServer((socket) => {
      socket.on("error", () => {}).pause();
      sockets.push(socket);
    });
    const connected = once(server, "connection");
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    // More than the buffers of the two sockets hold.
    await sealedTenant("syslog", 20_000);
    await aborted(
      new SyslogSink({
        ...{ host: "127.0.0.1", isTls: false, ca: undefined },
        port: (server.address() as AddressInfo).port,
      }),
      connected,
    );
  });

  it("waits no longer for standard output", async () => {
    await sealedTenant("file");
    const output = new PassThrough({ highWaterMark: 1 });
    await aborted(new OutputSink(output), once(output, "readable"));
  });
});
