import { createReadStream } from "node:fs";
import { mkdtemp, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { recordVaultEvent } from "../../src/audit/chain/vault-log.js";
import { verifyReceived } from "../../src/audit/verify/verify-received.js";
import { type TenantId, VAULT_TENANT_ID } from "../../src/base/ids.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { logDeliveryJob } from "../../src/jobs/log-delivery.js";
import type { Job } from "../../src/jobs/schedule.js";
import { FileSink } from "../../src/sinks/file-sink.js";
import { OtlpSink } from "../../src/sinks/otlp-sink.js";
import type { LogSink, SinkName } from "../../src/sinks/sink.js";
import { SyslogSink } from "../../src/sinks/syslog-sink.js";
import { removeRows } from "../../src/tenancy/delete-tenant.js";
import { createAuthority } from "../egress/certificates.js";
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

const DAY = 24 * 60 * MINUTE;

interface Sending {
  readonly job: Job;
  readonly lag: number[];
  readonly states: (string | undefined)[];
  readonly failed: unknown[];
  run(): Promise<void>;
}

function sendingTo(sink: LogSink): Sending {
  const [lag, states, failed]: [number[], (string | undefined)[], unknown[]] = [[], [], []];
  const job = logDeliveryJob({
    ...{ database: ledger.database, clock: ledger.clock, sink },
    onLag: (_, seconds) => lag.push(seconds),
    onState: (_, problem) => states.push(problem),
    onFailure: (_, error) => failed.push(error),
  });
  ends.push(async () => job.end?.());
  return { job, lag, states, failed, run: () => job.run(new AbortController().signal) };
}

/** A tenant with 4 rows in one minute, 3 in the next, and their seals. */
async function sealedTenant(sink: SinkName): Promise<TenantId> {
  ledger.clock.time = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
  const tenantId = await ledger.newTenant();
  await sealMore(tenantId, 3, sink);
  return tenantId;
}

async function sealMore(tenantId: TenantId, rows: number, sink: SinkName): Promise<void> {
  ledger.clock.time += MINUTE;
  await ledger.log(tenantId, rows);
  ledger.clock.time += 3 * MINUTE;
  const { database, keyring, history } = ledger;
  expect((await ledger.runJob({ server: { database, keyring, history, sinks: [sink] } })).failed).toEqual([]);
}

const idsOf = async (tenantId: TenantId) =>
  (await ledger.rows<{ id: string }>(tenantId, "select id from audit_logs order by created_at, id")).map(
    ({ id }) => id,
  );

const newPath = async () => join(await mkdtemp(join(tmpdir(), "sink-")), "audit.jsonl");
const linesIn = async (path: string) =>
  (await readFile(path, "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

describe("a file", () => {
  const kindsIn = async (path: string) => (await linesIn(path)).map(({ kind }) => kind);

  it("gets each row once, each minute followed by its seal", async () => {
    const path = await newPath();
    const tenantId = await sealedTenant("file");
    const sending = sendingTo(new FileSink({ path, bytes: 1e9 }));
    await sending.run();
    expect(await kindsIn(path)).toEqual([...["row", "row", "row", "row", "seal"], ...["row", "row", "row", "seal"]]);
    const lines = await linesIn(path);
    expect(lines.filter(({ kind }) => kind === "row").map(({ id }) => id)).toEqual(await idsOf(tenantId));
    expect(lines[0]).toMatchObject({ tenant_id: tenantId, outcome: "allowed", operation: "create" });
    expect(lines.at(-1)).toMatchObject({ kind: "seal", number: 2, rows: 3, body: expect.any(String) });
    await sealMore(tenantId, 2, "file");
    await sending.run();
    expect((await kindsIn(path)).slice(9)).toEqual(["row", "row", "seal"]);
    await sending.run();
    expect(await linesIn(path)).toHaveLength(12);
    expect([sending.lag, sending.states, sending.failed]).toEqual([[0, 0, 0], [], []]);
  });

  it("continues after a crash in the middle of a line", async () => {
    const path = await newPath();
    await writeFile(path, '{"kind":"row"}\n{"kind":"ro');
    await sealedTenant("file");
    await sendingTo(new FileSink({ path, bytes: 1e9 })).run();
    expect((await kindsIn(path)).slice(0, 3)).toEqual(["row", "row", "row"]);
  });

  it("continues after a crash in the middle of a line that is longer than what is read at once", async () => {
    const path = await newPath();
    await writeFile(path, `{"kind":"row"}\n{"kind":"${"x".repeat(200_000)}`);
    await sealedTenant("file");
    await sendingTo(new FileSink({ path, bytes: 1e9 })).run();
    expect((await kindsIn(path)).slice(0, 3)).toEqual(["row", "row", "row"]);
  });

  it("costs the database nothing while it cannot be written and rests", async () => {
    const path = join(await newPath(), "nowhere");
    await sealedTenant("file");
    const broken = sendingTo(new FileSink({ path, bytes: 1e9 }));
    await broken.run();
    using due = vi.spyOn(ledger.database, "due");
    ledger.clock.time += MINUTE;
    await broken.run();
    expect(due).not.toHaveBeenCalled();
    expect(broken.states).toHaveLength(1);
    expect(broken.lag[1]).toBe((broken.lag[0] ?? 0) + 60);
  });

  it("is renamed once it is large, and nothing is removed", async () => {
    const path = await newPath();
    const tenantId = await sealedTenant("file");
    const sending = sendingTo(new FileSink({ path, bytes: 1_000 }));
    await sending.run();
    for (let round = 0; round < 3; round += 1) {
      await sealMore(tenantId, 3, "file");
      await sending.run();
    }
    const folder = join(path, "..");
    const names = (await readdir(folder)).toSorted();
    for (const name of names) expect(name).toMatch(/^audit\.jsonl\.\d{4}-\d\d-\d\dT/);
    const files = await Promise.all(names.map((name) => linesIn(join(folder, name))));
    // Tenants of other tests may be due too, and their minutes fill files of their own.
    const rows = files.map((lines) => lines.filter(({ tenant_id, kind }) => tenant_id === tenantId && kind === "row"));
    expect(rows.filter((some) => some.length > 0)).toHaveLength(4);
    expect(rows.flat().map(({ id }) => id)).toEqual(await idsOf(tenantId));
  });

  it("is created again after another program has renamed it", async () => {
    const path = await newPath();
    const tenantId = await sealedTenant("file");
    const sending = sendingTo(new FileSink({ path, bytes: 1e9 }));
    await sending.run();
    await rename(path, `${path}.1`);
    await sealMore(tenantId, 1, "file");
    await sending.run();
    expect(await kindsIn(path)).toEqual(["row", "seal"]);
  });

  it("gets the logs of the others while a tenant is deleted", async () => {
    const path = await newPath();
    const [gone, other] = [await sealedTenant("file"), await sealedTenant("file")];
    const file = new FileSink({ path, bytes: 1e9 });
    // Some seconds pass between the list of what is due and a tenant's turn.
    const deleting: LogSink = {
      ...{ name: file.name, unsureForMs: file.unsureForMs },
      async send(records, signal) {
        await removeRows(ledger.database, gone, signal);
        await file.send(records);
      },
      confirm: () => file.confirm(),
      takeLost: () => file.takeLost(),
      close: () => file.close(),
    };
    const sending = sendingTo(deleting);
    await sending.run();
    await sending.run();
    expect([sending.states, sending.failed]).toEqual([[], []]);
    const sent = (await linesIn(path)).filter(({ tenant_id }) => tenant_id === other);
    expect(sent).toHaveLength(9);
  });

  it("delays the log, which retention keeps for it, while it cannot be written", async () => {
    const path = await newPath();
    await writeFile(path, "");
    const { time } = ledger.clock;
    ledger.clock.time = time - 100 * DAY;
    const tenantId = await sealedTenant("file");
    const broken = sendingTo(new FileSink({ path: join(path, "nowhere"), bytes: 1e9 }));
    await broken.run();
    expect(broken.states).toEqual([expect.stringContaining("CLOAKROOM_AUDIT_FILE cannot be written (ENOTDIR)")]);
    ledger.clock.time += 60 * DAY;
    const retain = async () => {
      const { database, keyring, history } = ledger;
      ledger.clock.time += DAY;
      await ledger.runJob({ retentionDays: 20, server: { database, keyring, history, sinks: ["file"] } });
    };
    await retain();
    expect((await ledger.verify(tenantId)).keptFrom?.getTime() ?? 0).toBe(0);
    await broken.job.end?.();
    await sendingTo(new FileSink({ path, bytes: 1e9 })).run();
    const sent = (await linesIn(path)).filter(({ tenant_id }) => tenant_id === tenantId);
    expect(sent).toHaveLength(9);
    await retain();
    expect((await ledger.verify(tenantId)).keptFrom?.getTime()).toBeGreaterThan(0);
    expect((await ledger.verify(tenantId)).findings).toEqual([]);
    ledger.clock.time = time;
  });
});

/** A syslog server that reads frames with octet counts. */
async function syslogServer(tls?: { readonly key: string; readonly cert: string }) {
  const messages: string[] = [];
  const sockets = new Set<Socket>();
  let hangs = false;
  const waiting = new Set<() => void>();
  const onConnection = (socket: Socket) => {
    if (hangs) socket.pause();
    for (const resolve of waiting) resolve();
    waiting.clear();
    let rest: Buffer = Buffer.alloc(0);
    sockets.add(socket);
    socket
      .on("error", () => {})
      .on("data", (chunk: Buffer) => {
        if (hangs) return;
        rest = Buffer.concat([rest, chunk]);
        for (;;) {
          const length = /^(\d+) /.exec(rest.toString("latin1", 0, 10));
          const start = length?.[0].length ?? 0;
          const size = Number(length?.[1]);
          if (!length || rest.length < start + size) return;
          messages.push(rest.toString("utf8", start, start + size));
          rest = rest.subarray(start + size);
        }
      });
  };
  const server: Server = tls ? createTlsServer(tls, onConnection) : createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  ends.push(async () => {
    cut();
    server.close();
  });
  return {
    ...{ port, messages, cut },
    connected: () => new Promise<void>((resolve) => waiting.add(resolve)),
    /** Its socket takes messages that it does not read, as one does whose disk is full. */
    hang() {
      hangs = true;
    },
    /** Ends as a killed program does, and starts again. */
    restart() {
      hangs = false;
      for (const socket of sockets) socket.resetAndDestroy();
      sockets.clear();
    },
  };
}

describe("a syslog server", () => {
  const received = (messages: readonly string[], tenantId: TenantId, count: number) =>
    expect.poll(() => messages.filter((message) => message.includes(tenantId)).length).toBe(count);

  it("gets messages of RFC 5424 over TCP, and all of them again after a lost connection", async () => {
    const { port, messages, cut } = await syslogServer();
    const tenantId = await sealedTenant("syslog");
    const sending = sendingTo(new SyslogSink({ host: "127.0.0.1", port, isTls: false, ca: undefined }));
    // The job sends minutes of other cases' tenants too, if they were sealed meanwhile.
    const own = () => messages.filter((message) => message.includes(tenantId));
    await sending.run();
    await received(messages, tenantId, 9);
    const [id = ""] = await idsOf(tenantId);
    expect(own()[0]).toMatch(
      /^<110>1 \d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z \S+ cloakroom \d+ \w+\.create \[cloakroom@32473 kind="row" tenant_id="/,
    );
    expect(own()[0]).toContain(`id="${id}"`);
    expect(own()[8]).toMatch(
      / log\.minute \[.* body="cloakroom\/audit-seal\/1 tenant .* signature="[\w+/=]+"\] Log sealed$/s,
    );
    // The position is stored only once the connection has lasted.
    expect(await ledger.rows(tenantId, "select 1 from audit_sinks")).toEqual([]);
    await sending.run();
    expect(own()).toHaveLength(9);
    cut();
    await sealMore(tenantId, 1, "syslog");
    await expect
      .poll(
        async () => {
          await sending.run();
          return own().length;
        },
        { interval: 300 },
      )
      .toBeGreaterThanOrEqual(9 + 11);
    expect(new Set(own().map((message) => / id="([^"]+)"/.exec(message)?.[1])).size).toBeGreaterThanOrEqual(8);
  });

  it("gets messages again that its socket took for longer than a minute, if it ends without having read them", async () => {
    const { port, messages, connected, hang, restart } = await syslogServer();
    const now = performance.now.bind(performance);
    let passed = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + passed);
    ends.push(async () => vi.restoreAllMocks());
    const tenantId = await sealedTenant("syslog");
    const sending = sendingTo(new SyslogSink({ host: "127.0.0.1", port, isTls: false, ca: undefined }));
    hang();
    await sending.run();
    passed += 61_000;
    const again = connected();
    const running = sending.run();
    await Promise.race([running, again]);
    restart();
    await running;
    expect(await ledger.rows(tenantId, "select 1 from audit_sinks")).toEqual([]);
    await expect
      .poll(
        async () => {
          passed += 5_000;
          await sending.run();
          return messages.filter((message) => message.includes(tenantId)).length;
        },
        { interval: 100 },
      )
      .toBe(9);
    expect(sending.states[0]).toMatch(/CLOAKROOM_AUDIT_SYSLOG does not confirm messages|closed the connection/);
  });

  it("has what its position says once it has ended a connection after the last message", async () => {
    const { port, messages } = await syslogServer();
    const now = performance.now.bind(performance);
    let passed = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + passed);
    ends.push(async () => vi.restoreAllMocks());
    const tenantId = await sealedTenant("syslog");
    const sending = sendingTo(new SyslogSink({ host: "127.0.0.1", port, isTls: false, ca: undefined }));
    await sending.run();
    passed += 61_000;
    await sending.run();
    const positions = () => ledger.rows(tenantId, "select number::int from audit_sinks");
    const [{ last } = { last: 0 }] = await ledger.rows<{ last: number }>(
      tenantId,
      "select max(number)::int as last from audit_seals",
    );
    expect(await positions()).toEqual([{ number: last }]);
    await sealMore(tenantId, 1, "syslog");
    await sending.run();
    passed += 61_000;
    await sending.run();
    expect(await positions()).toEqual([{ number: last + 1 }]);
    await received(messages, tenantId, 11);
    expect(sending.states).toEqual([]);
  });

  it("is checked over TLS by the certificates that are given", async () => {
    const authority = await createAuthority();
    const { port, messages } = await syslogServer(await authority.issue([], ["127.0.0.1"]));
    const tenantId = await sealedTenant("syslog");
    const options = { host: "127.0.0.1", port, isTls: true };
    const untrusting = sendingTo(new SyslogSink({ ...options, ca: undefined }));
    await untrusting.run();
    expect(untrusting.states).toEqual([
      expect.stringContaining("CLOAKROOM_AUDIT_SYSLOG does not accept messages (UNABLE_TO_VERIFY_LEAF_SIGNATURE)"),
    ]);
    await untrusting.job.end?.();
    const sending = sendingTo(new SyslogSink({ ...options, ca: authority.pem }));
    await sending.run();
    await received(messages, tenantId, 9);
  });
});

describe("an OTLP receiver", () => {
  type Handler = (body: Received, response: ServerResponse, request: IncomingMessage) => void;
  interface Received {
    readonly resourceLogs: readonly {
      readonly scopeLogs: readonly { readonly logRecords: readonly Readonly<Record<string, unknown>>[] }[];
    }[];
  }
  async function receiver(handle: Handler): Promise<string> {
    const server = createHttpServer(async (request, response) => {
      handle(JSON.parse(await text(request)), response, request);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(async () => server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/logs`;
  }
  const recordsOf = ({ resourceLogs }: Received) =>
    resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap((scope) => scope.logRecords));

  it("gets rows as log records, and is asked again when it says so", async () => {
    const seen: Readonly<Record<string, unknown>>[] = [];
    let refusals = 1;
    const url = await receiver((body, response, request) => {
      if (refusals > 0) {
        refusals -= 1;
        return void response.writeHead(503, { "retry-after": "0" }).end("{}");
      }
      expect(request.headers.authorization).toBe("Bearer secret");
      seen.push(...recordsOf(body));
      response.setHeader("content-type", "application/json").end("{}");
    });
    const tenantId = await sealedTenant("otlp");
    const headers = new Map([["authorization", new Sensitive("Bearer secret")]]);
    const sending = sendingTo(new OtlpSink({ url, headers, onRejected: () => {} }));
    await sending.run();
    expect(sending.states).toEqual([expect.stringContaining("status 503")]);
    await sending.run();
    expect(sending.states.at(-1)).toBeUndefined();
    expect(seen).toHaveLength(9);
    expect(seen[0]).toMatchObject({
      ...{
        timeUnixNano: expect.stringMatching(/^\d{19}$/),
        severityNumber: 9,
        body: { stringValue: expect.any(String) },
      },
      eventName: expect.stringMatching(/^cloakroom\.audit\.\w+\.create$/),
      attributes: expect.arrayContaining([{ key: "cloakroom.tenant_id", value: { stringValue: tenantId } }]),
    });
  });

  it.each([200, 503])("is read up to a bound if it responds with %d and a body without an end", async (status) => {
    const most = 256 * 1024 * 1024;
    let written = 0;
    const url = await receiver((_, response) => {
      const chunk = Buffer.alloc(64 * 1024, " ");
      response.writeHead(status);
      const write = () => {
        while (written < most && !response.destroyed) {
          written += chunk.length;
          if (!response.write(chunk)) return;
        }
        response.end();
      };
      response.on("drain", write);
      write();
    });
    await sealedTenant("otlp");
    const sending = sendingTo(new OtlpSink({ url, headers: new Map(), onRejected: () => {} }));
    await sending.run();
    expect(sending.states).toEqual([expect.stringContaining("CLOAKROOM_AUDIT_OTLP_URL")]);
    // What the sockets of both ends hold.
    expect(written).toBeLessThan(most / 8);
  });

  it.each(["<html>Welcome</html>", "", "[]", '{"partialSuccess":{"rejectedLogRecords":"many"}}'])(
    "treats a 200 with body %j as a failed export and keeps the records",
    async (text) => {
      const url = await receiver((_, response) => void response.end(text));
      await sealedTenant("otlp");
      const sending = sendingTo(new OtlpSink({ url, headers: new Map(), onRejected: () => {} }));
      await sending.run();
      expect(sending.states).toEqual([expect.stringContaining("did not respond as an OTLP/HTTP JSON receiver")]);
    },
  );

  it("gets the rest of a large minute, in order, after it failed in the middle of it", async () => {
    const received: string[] = [];
    let large = 0;
    const url = await receiver((body, response) => {
      const records = recordsOf(body);
      large += records.length === 500 ? 1 : 0;
      if (large === 3) {
        large += 1;
        return void response.destroy();
      }
      received.push(...records.map(({ attributes }) => JSON.stringify(attributes)));
      response.end("{}");
    });
    ledger.clock.time = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
    const tenantId = await ledger.newTenant();
    await sealMore(tenantId, 1_800, "otlp");
    const first = sendingTo(new OtlpSink({ url, headers: new Map(), onRejected: () => {} }));
    await first.run();
    expect(first.states).toHaveLength(1);
    await first.job.end?.();
    // Another process continues where this one was.
    await sendingTo(new OtlpSink({ url, headers: new Map(), onRejected: () => {} })).run();
    const ids = received
      .filter((record) => record.includes(tenantId) && record.includes('{"stringValue":"row"}'))
      .map((record) => /"cloakroom\.id","value":\{"stringValue":"([^"]+)"/.exec(record)?.[1]);
    expect(ids).toEqual(await idsOf(tenantId));
  });

  it("gets all other records after it rejects one for good", async () => {
    const seen = new Set<unknown>();
    let bad: unknown;
    // Tenants of earlier tests have rows about their outages.
    const tenantId = await sealedTenant("otlp");
    const url = await receiver((body, response) => {
      const times = recordsOf(body)
        .map(({ attributes }) => JSON.stringify(attributes))
        .filter((attributes) => attributes.includes(tenantId));
      bad ??= times[2];
      for (const time of times) if (time !== bad) seen.add(time);
      const rejected = times.includes(String(bad)) ? 1 : 0;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ partialSuccess: { rejectedLogRecords: String(rejected) } }));
    });
    const rejected: string[] = [];
    await sendingTo(new OtlpSink({ url, headers: new Map(), onRejected: (id) => rejected.push(id) })).run();
    expect(seen.size).toBe(8);
    expect(rejected).toEqual([(await idsOf(tenantId))[2]]);
  });
});

// Last: each new sink gets these rows.
describe("the vault's own log", () => {
  const record = (entityId: string) =>
    recordVaultEvent(ledger, {
      entityType: "server",
      entityId,
      operation: "start",
      remark: "release 1",
      isByServer: true,
    });
  const sendNow = async (path: string) => {
    const sending = sendingTo(new FileSink({ path, bytes: 1e9 }));
    await sending.run();
    await sending.job.end?.();
    expect([sending.states, sending.failed]).toEqual([[], []]);
    return (await linesIn(path)).filter(({ tenant_id }) => tenant_id === VAULT_TENANT_ID);
  };

  it("goes to sinks once, each row with its entry, and shows there which row is gone", async () => {
    const path = await newPath();
    await Promise.all([record("one"), record("two")]);
    // Has an attestation in the vault's own chain.
    await sealedTenant("file");
    const lines = await sendNow(path);
    expect(lines.map(({ kind }) => kind)).toEqual(["row", "event", "row", "event"]);
    expect(lines.map(({ entity_id }) => entity_id).toSorted()).toEqual(["one", "two", undefined, undefined]);
    expect(lines[0]).toMatchObject({ message: "Server started: release 1", outcome: "allowed", client: null });
    expect(lines[1]).toMatchObject({ number: expect.any(Number), mac: expect.stringMatching(/^[0-9a-f]{64}$/) });

    await record("three");
    await record("four");
    await ledger.tamper(VAULT_TENANT_ID, "delete from audit_logs where entity_id = 'three'");
    const later = (await sendNow(path)).slice(4);
    expect(later.map(({ kind, entity_id }) => entity_id ?? kind)).toEqual(["event", "four", "event"]);
    expect(later[0].number).toBeGreaterThan(lines[3].number);
    expect(await sendNow(path)).toHaveLength(7);
    const received = await verifyReceived(createReadStream(path), new Map());
    expect(received).toMatchObject({ vaultRows: 3, otherLines: 0, findings: [] });
  });

  it("waits for a sink that is down, and counts as its lag", async () => {
    const path = await newPath();
    await writeFile(path, "");
    const broken = sendingTo(new FileSink({ path: join(path, "nowhere"), bytes: 1e9 }));
    await record("five");
    await broken.run();
    ledger.clock.time += MINUTE;
    await broken.run();
    expect([broken.states, broken.lag, broken.failed]).toEqual([[expect.stringContaining("ENOTDIR")], [0, 60], []]);
    await broken.job.end?.();
    expect((await sendNow(path)).filter(({ kind }) => kind === "row").at(-1)).toMatchObject({ entity_id: "five" });
  });
});
