import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { overdueStamps } from "../../src/audit/chain/overdue-stamps.js";
import { exportRange, wholeMinutes } from "../../src/audit/export/export-range.js";
import { verifyExport } from "../../src/audit/verify/verify-export.js";
import { systemClock } from "../../src/base/clock.js";
import { type TenantId, VAULT_TENANT_ID } from "../../src/base/ids.js";
import { readCertificates } from "../../src/crypto/certificates.js";
import { logSigningKey } from "../../src/crypto/log-signing.js";
import { logStampsJob } from "../../src/jobs/log-stamps.js";
import { timeStampAuthority } from "../../src/server/time-stamp-authority.js";
import { readTimeStamps } from "../../src/settings/time-stamps.js";
import { readStamp } from "../../src/store/audit/audit-anchors.js";
import { readLogSnapshot } from "../../src/store/audit/log-snapshot.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";
import { createStampAuthority, type StampAuthority } from "./support/stamp-authority.js";

let ledger: Ledger;
let authority: StampAuthority;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  ledger = await openLedger();
});
beforeAll(async () => {
  authority = await createStampAuthority();
});
beforeEach(() => {
  authority.fail = undefined;
  authority.asked = 0;
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(() => authority?.[Symbol.asyncDispose]());
afterAll(() => ledger?.[Symbol.asyncDispose]());

const DAY = 24 * 60 * MINUTE;

function stamping() {
  const [lag, states, failed]: [number[], (string | undefined)[], unknown[]] = [[], [], []];
  const settings = { CLOAKROOM_AUDIT_TSA_URL: authority.url, CLOAKROOM_AUDIT_TSA_CA_FILE: authority.caFile };
  const config = readTimeStamps(settings);
  if (!config) throw new Error("the settings name an authority");
  const job = logStampsJob({
    ...{ database: ledger.database, clock: ledger.clock, authority: timeStampAuthority(config, systemClock) },
    onLag: (seconds) => lag.push(seconds),
    onState: (problem) => states.push(problem),
    onFailure: (_, error) => failed.push(error),
  });
  ends.push(async () => job.end?.());
  return { lag, states, failed, run: (signal = new AbortController().signal) => job.run(signal) };
}

async function seal(tenantId: TenantId, rows: number): Promise<void> {
  ledger.clock.time += MINUTE;
  await ledger.log(tenantId, rows);
  ledger.clock.time += 3 * MINUTE;
  const { database, keyring, history } = ledger;
  const sealed = await ledger.runJob({ server: { database, keyring, history, isStamped: true } });
  expect(sealed.failed).toEqual([]);
}

/** Moves the clock 40 days back, and returns it afterwards: time stamps are due at midnight. */
async function daysAgo(run: () => Promise<void>): Promise<void> {
  const { time } = ledger.clock;
  ledger.clock.time = Math.floor((time - 40 * DAY) / DAY) * DAY + 12 * 60 * MINUTE;
  await run();
  ledger.clock.time = time;
}

async function exported(tenantId: TenantId, since: number, until: number) {
  const keys = await ledger.keyring.of(tenantId);
  const tokenOf = async (id: Parameters<Parameters<typeof exportRange>[1]["tokenOf"]>[0]) =>
    (await ledger.database.of(VAULT_TENANT_ID).bulk((tx) => tx.query(readStamp, id)))?.token;
  const range = wholeMinutes({ since: new Date(since), until: new Date(until) });
  return readLogSnapshot(ledger.stored.address, tenantId, async (snapshot) => {
    let text = "";
    for await (const piece of exportRange(snapshot, { tenantId, keys, isWhole: true, tokenOf }, range, () => {}))
      text += piece;
    return text;
  });
}

async function verified(tenantId: TenantId, file: string, ca?: string) {
  const fingerprint = logSigningKey((await ledger.keyring.of(tenantId)).audit, tenantId).fingerprint;
  async function* input() {
    yield Buffer.from(file);
  }
  return verifyExport(input(), { fingerprint, authorities: ca === undefined ? undefined : readCertificates(ca) });
}

describe("a time-stamp authority", () => {
  it("is asked once a day for the last seals of all tenants, and proves each tenant's export", async () => {
    await daysAgo(async () => {
      const tenants = [await ledger.newTenant(), await ledger.newTenant(), await ledger.newTenant()];
      const start = ledger.clock.time;
      for (const tenantId of tenants) await seal(tenantId, 2);
      const end = ledger.clock.time;
      const job = stamping();
      await job.run();
      expect(authority.asked).toBe(0);
      ledger.clock.time += DAY;
      await job.run();
      await job.run();
      expect([authority.asked, job.states, job.failed, job.lag]).toEqual([1, [], [], [0, 0, 0]]);
      for (const tenantId of tenants) {
        const file = await exported(tenantId, start - DAY, end);
        expect(await verified(tenantId, file, authority.ca)).toMatchObject({
          ...{ state: "good", findings: [], reasons: [], stamps: { verified: 1, unverified: 0 } },
        });
        expect(await verified(tenantId, file)).toMatchObject({ state: "good", stamps: { verified: 0, unverified: 1 } });
      }
      // Nothing new, nothing to stamp.
      ledger.clock.time += DAY;
      await ledger.runJob({ server: { ...ledger, isStamped: true } });
      await job.run();
      expect(authority.asked).toBe(1);
    });
  });

  it("proves a range by a stamp after it, over the seals in between", async () => {
    await daysAgo(async () => {
      const tenantId = await ledger.newTenant();
      const start = ledger.clock.time;
      for (const rows of [1, 2, 3, 4]) await seal(tenantId, rows);
      const job = stamping();
      ledger.clock.time += DAY;
      await job.run();
      const until = start + 6 * MINUTE;
      const file = await exported(tenantId, start, until);
      const kinds = file.split("\n").map((line) => /"kind":"([a-z]+)"/.exec(line)?.[1]);
      expect(kinds.filter((kind) => kind === "link" || kind === "stamp")).toEqual(["link", "link", "stamp"]);
      expect(await verified(tenantId, file, authority.ca)).toMatchObject({
        ...{ state: "good", stamps: { verified: 1, last: { until: new Date(until) } } },
      });
    });
  });

  it("is asked again later after a failure, which is reported and delays nothing", async () => {
    await daysAgo(async () => {
      const tenantId = await ledger.newTenant();
      await seal(tenantId, 1);
      authority.fail = (response) => void response.writeHead(500).end();
      const job = stamping();
      ledger.clock.time = Math.ceil(ledger.clock.time / DAY) * DAY + MINUTE;
      await job.run();
      await job.run();
      expect([authority.asked, job.states]).toEqual([1, ["the authority responds with status 500"]]);
      expect(job.lag).toEqual([60, 60]);
      const warnings = (at: number) => overdueStamps(ledger.database, new Date(at));
      expect(await warnings(ledger.clock.time)).toEqual([]);
      expect(await warnings(ledger.clock.time + DAY)).toEqual([expect.stringContaining("for 24 hours")]);
      await seal(tenantId, 1);
      authority.fail = undefined;
      await stamping().run();
      expect(await warnings(ledger.clock.time + DAY)).toEqual([]);
    });
  });

  it.each([
    ["no time stamp", Buffer.from("<html>"), "the reply is not one of RFC 3161"],
    ["a refusal", Buffer.from("30053003020102", "hex"), "the authority refuses"],
  ])("has failed if it responds with %s", async (_, body, reason) => {
    await daysAgo(async () => {
      await seal(await ledger.newTenant(), 1);
      authority.fail = (response) => void response.end(body);
      const job = stamping();
      ledger.clock.time += DAY;
      await job.run();
      expect(job.states).toEqual([expect.stringContaining(reason)]);
    });
  });

  it("is left alone if the server stops before it responds", async () => {
    await daysAgo(async () => {
      await seal(await ledger.newTenant(), 1);
      const stopping = new AbortController();
      authority.fail = () => stopping.abort();
      const job = stamping();
      ledger.clock.time += DAY;
      await job.run(stopping.signal);
      // A job that waits for the authority until its time is over reports a problem.
      expect(job.states).toEqual([]);
    });
  });
});

describe("an auditor detects", () => {
  it("a stamp of another entry, of another authority, and a changed proof", async () => {
    await daysAgo(async () => {
      const tenants = [await ledger.newTenant(), await ledger.newTenant()];
      const [tenantId = VAULT_TENANT_ID, other = VAULT_TENANT_ID] = tenants;
      const start = ledger.clock.time;
      for (const each of tenants) await seal(each, 1);
      ledger.clock.time += DAY;
      await stamping().run();
      const [file, others] = [await exported(tenantId, start, start + DAY), await exported(other, start, start + DAY)];
      const stampIn = (text: string) => text.split("\n").find((line) => line.startsWith('{"kind":"stamp"')) ?? "";
      const kinds = async (text: string, ca = authority.ca) =>
        (await verified(tenantId, text, ca)).findings.map(({ kind }) => kind);
      expect(stampIn(others)).not.toBe(stampIn(file));
      expect(await kinds(file)).toEqual([]);
      expect(await kinds(file.replace(stampIn(file), stampIn(others)))).toContain("stamp_wrong");
      expect(await kinds(file.replace(/"proof":\["(.)/, '"proof":["L" , "$1'))).toContain("file_changed");
      expect(await kinds(file.replace(`${stampIn(file)}\n`, ""))).toEqual(["file_changed"]);
      const foreign = await createStampAuthority();
      ends.push(async () => foreign[Symbol.asyncDispose]());
      expect(await kinds(file, foreign.ca)).toEqual(["stamp_wrong"]);
    });
  });

  it("missing stamps, if they ask for stamps", async () => {
    const tenantId = await ledger.newTenant();
    const start = ledger.clock.time;
    await seal(tenantId, 1);
    expect(await verified(tenantId, await exported(tenantId, start, start + DAY), authority.ca)).toMatchObject({
      ...{ state: "unknown", findings: [], reasons: [expect.stringContaining("no time stamp")] },
    });
  });
});

describe("the settings of a time-stamp authority", () => {
  const url = "http://tsa.example.com/tsr";
  it.each([
    [{ CLOAKROOM_AUDIT_TSA_URL: url }, "Set both"],
    [{ CLOAKROOM_AUDIT_TSA_CA_FILE: "ca.pem" }, "Set both"],
    [{ CLOAKROOM_AUDIT_TSA_POLICY: "1.2.3" }, "Set both"],
    [{ CLOAKROOM_AUDIT_TSA_URL: "ftp://tsa", CLOAKROOM_AUDIT_TSA_CA_FILE: "x" }, "CLOAKROOM_AUDIT_TSA_URL must be"],
    [
      { CLOAKROOM_AUDIT_TSA_URL: "http://a:b@tsa", CLOAKROOM_AUDIT_TSA_CA_FILE: "x" },
      "CLOAKROOM_AUDIT_TSA_URL must be",
    ],
    [{ CLOAKROOM_AUDIT_TSA_URL: url, CLOAKROOM_AUDIT_TSA_CA_FILE: "/nowhere" }, "CLOAKROOM_AUDIT_TSA_CA_FILE must be"],
    [
      { CLOAKROOM_AUDIT_TSA_URL: url, CLOAKROOM_AUDIT_TSA_CA_FILE: "/nowhere", CLOAKROOM_AUDIT_TSA_POLICY: "best" },
      "CLOAKROOM_AUDIT_TSA_POLICY must be",
    ],
  ])("are refused if they are %j", (environment, message) => {
    expect(() => readTimeStamps(environment)).toThrow(message);
  });
});
