// Needs: rsyslogd

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { logEntry } from "../../src/audit/log-entry.js";
import { logDeliveryJob } from "../../src/jobs/log-delivery.js";
import { SyslogSink } from "../../src/sinks/syslog-sink.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { createAuthority } from "../egress/certificates.js";
import { newDirectory } from "../support/new-directory.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

const ROWS = 600;
/** Characters that RFC 5424 escapes, and some beyond ASCII. */
const REASON = String.raw`ticket "4711" ] \ é €`;

const directory = newDirectory();
const output = join(directory, "received.jsonl");
let ledger: Ledger;
let rsyslog: ChildProcess;
let ca = "";

/** The configuration that docs/audit-export.md shows, in this directory. rsyslog chooses its port, and writes it into a file. */
function settings(): string {
  const [, shown] = /```text\n(global\([^`]*)```/.exec(readFileSync("docs/audit-export.md", "utf8")) ?? [];
  if (shown === undefined) throw new Error("docs/audit-export.md has no configuration of rsyslog");
  return shown
    .replace("global(", `global(workDirectory="${directory}" `)
    .replaceAll("/etc/rsyslog.d/", `${directory}/`)
    .replace("/var/log/cloakroom.jsonl", output)
    .replace('port="6514"', `port="0" address="127.0.0.1" listenPortFileName="${directory}/port"`);
}

beforeAll(async () => {
  const authority = await createAuthority();
  const { cert, key } = await authority.issue([], ["127.0.0.1"]);
  ca = authority.pem;
  for (const [name, text] of Object.entries({
    "ca.pem": ca,
    "cert.pem": cert,
    "key.pem": key,
    "rsyslog.conf": settings(),
  }))
    writeFileSync(join(directory, name), text);
  const files = ["-f", join(directory, "rsyslog.conf"), "-i", join(directory, "pid")];
  rsyslog = spawn("rsyslogd", ["-n", ...files], { stdio: "ignore" });
  ledger = await openLedger();
});
afterAll(async () => {
  await ledger?.[Symbol.asyncDispose]();
  if (rsyslog.exitCode !== null) return;
  rsyslog.kill();
  await once(rsyslog, "exit");
});

const contentOf = (path: string) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};
const received = (): readonly Record<string, string>[] =>
  contentOf(output)
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line)["rfc5424-sd"]["cloakroom@32473"]);

it("rsyslog gets every row and seal over TLS, in order, with the fields of an export", async () => {
  const tenantId = await ledger.newTenant();
  ledger.clock.time += MINUTE;
  await ledger.log(tenantId, ROWS);
  await ledger.database.of(tenantId).shared(async (tx) => {
    const context = { ...EMPTY_CONTEXT, reason: REASON };
    writeLog(tx, logEntry("token", "last", "read", { context, outcome: "denied", code: "reason_required" }));
  });
  ledger.clock.time += 3 * MINUTE;
  const { database, keyring, history, clock } = ledger;
  expect((await ledger.runJob({ server: { database, keyring, history, sinks: ["syslog"] } })).failed).toEqual([]);
  await expect.poll(() => contentOf(join(directory, "port"))).not.toBe("");
  const port = Number(contentOf(join(directory, "port")));
  const sink = new SyslogSink({ host: "127.0.0.1", port, isTls: true, ca });
  const failed: unknown[] = [];
  const noteFailure = (_: unknown, error: unknown) => failed.push(error);
  const job = logDeliveryJob({ database, clock, sink, onLag() {}, onState: noteFailure, onFailure: noteFailure });
  await job.run(new AbortController().signal);
  // It ends its side of the first connection once it has read all.
  await sink.confirm(new AbortController().signal);
  expect(sink.takeLost()).toBe(false);
  const rows = await ledger.rows<{ id: string }>(tenantId, "select id from audit_logs order by created_at, id");
  // Those of the tenant's creation, and of this test.
  const ids = rows.map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(ROWS);
  const own = () => received().filter(({ tenant_id }) => tenant_id === tenantId);
  await expect
    .poll(() =>
      own()
        .filter(({ kind }) => kind === "row")
        .map(({ id }) => id),
    )
    .toEqual(ids);
  await expect.poll(() => own().at(-1)?.kind).toBe("seal");
  expect(own().find(({ entity_id }) => entity_id === "last")).toMatchObject({
    ...{ kind: "row", operation: "read", outcome: "denied", code: "reason_required", reason: REASON },
  });
  await job.end?.();
  expect(failed).toEqual([]);
});
