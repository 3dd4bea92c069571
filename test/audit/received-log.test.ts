import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TenantPublicKeys, verifyReceived } from "../../src/audit/verify/verify-received.js";
import type { TenantId } from "../../src/base/ids.js";
import { logSigningKey, readLogPublicKey } from "../../src/crypto/log-signing.js";
import { logDeliveryJob } from "../../src/jobs/log-delivery.js";
import { FileSink } from "../../src/sinks/file-sink.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

let ledger: Ledger;
let path: string;
let tenants: TenantId[];
let lines: string[];

beforeAll(async () => {
  ledger = await openLedger();
  path = join(await mkdtemp(join(tmpdir(), "received-")), "audit.jsonl");
  ledger.clock.time = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
  tenants = [await ledger.newTenant(), await ledger.newTenant()];
  for (const rows of [3, 2, 4]) {
    ledger.clock.time += MINUTE;
    for (const tenantId of tenants) await ledger.log(tenantId, rows);
  }
  ledger.clock.time += 3 * MINUTE;
  await ledger.runJob({ server: { ...ledger, sinks: ["file"] } });
  const job = logDeliveryJob({
    ...{ database: ledger.database, clock: ledger.clock, sink: new FileSink({ path, bytes: 1e9 }) },
    ...{ onLag: () => {}, onState: () => {} },
    onFailure: (_, error) => {
      throw error;
    },
  });
  await job.run(new AbortController().signal);
  await job.end?.();
  lines = (await readFile(path, "utf8")).trimEnd().split("\n");
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

async function keysOf(...of: readonly (TenantId | undefined)[]): Promise<TenantPublicKeys> {
  const keys = new Map<string, NonNullable<ReturnType<typeof readLogPublicKey>>>();
  for (const tenantId of of) {
    if (!tenantId) continue;
    const { publicKey, fingerprint } = logSigningKey((await ledger.keyring.of(tenantId)).audit, tenantId);
    const key = readLogPublicKey(publicKey);
    if (key) keys.set(fingerprint, key);
  }
  return keys;
}

async function verified(content: readonly string[], keys?: TenantPublicKeys) {
  async function* input() {
    yield Buffer.from(`${content.join("\n")}\n`);
  }
  return verifyReceived(input(), keys ?? (await keysOf(...tenants)));
}
const kindsOf = async (content: readonly string[]) => (await verified(content)).findings.map(({ kind }) => kind);

/** The lines of one tenant, and where its seals are. */
function ownLines() {
  const own = lines.filter((line) => line.includes(`"tenant_id":"${tenants[0]}"`));
  return { own, seals: own.flatMap((line, index) => (line.startsWith('{"kind":"seal"') ? index : [])) };
}

describe("what a file sink wrote", () => {
  it("is good for a receiver with the public keys", async () => {
    const verdict = await verified(lines);
    expect(verdict).toMatchObject({ state: "good", reasons: [], findings: [], otherTenants: 0, otherLines: 0 });
    expect(
      [...verdict.tenants.values()].map(({ walk, first }) => ({ rows: walk.rows, entries: walk.entries, first })),
    ).toEqual([
      { rows: 13, entries: 4, first: 1 },
      { rows: 13, entries: 4, first: 1 },
    ]);
    const one = await verified(lines, await keysOf(tenants[0]));
    expect(one).toMatchObject({ state: "good", otherTenants: 1 });
    expect(await verified(lines, new Map())).toMatchObject({ state: "unknown", otherTenants: 2 });
  });

  it("is good with records that the sink got twice, and with lines of the operator's log between", async () => {
    const { own, seals } = ownLines();
    const [first = 0, second = 0] = seals;
    // Sent again from the middle of a minute, and from the start of one.
    const repeated = [...own.slice(0, second + 2), ...own.slice(first + 2, second + 2), ...own.slice(second + 1)];
    const noisy = ['{"level":"info","message":"ready"}', ...repeated, "not JSON"];
    const verdict = await verified(noisy, await keysOf(tenants[0]));
    expect(verdict).toMatchObject({ state: "good", findings: [], otherLines: 2 });
    expect([...verdict.tenants.values()][0]?.repeated).toBeGreaterThan(2);
  });

  it("cannot be judged without the file before or the seal after", async () => {
    const { own, seals } = ownLines();
    const keys = await keysOf(tenants[0]);
    const [first = 0, second = 0, third = 0] = seals;
    expect(await verified(own.slice(first + 1), keys)).toMatchObject({ state: "good" });
    expect(await verified(own.slice(first + 2), keys)).toMatchObject({
      ...{ state: "unknown", reasons: [expect.stringContaining("begins within a minute")], findings: [] },
    });
    expect(await verified(own.slice(0, third + 3), keys)).toMatchObject({
      ...{ state: "unknown", reasons: [expect.stringContaining("2 rows at the end have no seal yet")] },
    });
    expect(await verified(own.slice(first + 1, second), keys)).toMatchObject({ state: "unknown" });
  });
});

describe("a receiver detects", () => {
  it("rows that are lost, changed, added or in another order", async () => {
    const { own, seals } = ownLines();
    const [first = 0] = seals;
    const at = first + 1;
    const row = own[at] ?? "";
    expect(row).toContain('"kind":"row"');
    expect(await kindsOf(own.toSpliced(at, 1))).toEqual(["rows_missing"]);
    expect(await kindsOf(own.with(at, row.replace("token-0", "token-9")))).toEqual(["rows_changed"]);
    expect(await kindsOf(own.with(at, row.replace("{", "{ ")))).toEqual(["rows_missing"]);
    expect(await kindsOf(own.with(at, row.replace('"reason":null', '"reason":1')))).toContain("file_changed");
    const added = row.replace(/"id":"[^"]+"/, '"id":"01a203fa-92a7-7000-a50e-a913b02d707c"');
    expect(await kindsOf(own.toSpliced(first, 0, added))).not.toEqual([]);
    expect(await kindsOf(own.toSpliced(seals[1] ?? 0, 0, added))).not.toEqual([]);
    expect(await kindsOf([...own, added])).toEqual(["rows_added"]);
    expect(await kindsOf(own.with(at, own[at + 1] ?? "").with(at + 1, row))).toContain("rows_changed");
    expect(await kindsOf([...own, row.replace("token-0", "token-9")])).toEqual(["rows_changed"]);
  });

  it("seals that are lost, changed or of another key", async () => {
    const { own, seals } = ownLines();
    const [first = 0, second = 0] = seals;
    const seal = own[second] ?? "";
    expect(await kindsOf(own.toSpliced(second, 1))).toEqual(expect.arrayContaining(["rows_unsealed"]));
    expect(await kindsOf([...own.slice(0, first + 1), ...own.slice(second + 1)])).toEqual(["seal_missing"]);
    expect(await kindsOf(own.with(second, seal.replace(/rows (\d+) digest/, "rows 9 digest")))).toContain(
      "seal_changed",
    );
    expect(await kindsOf(own.with(second, seal.replace(/"rows":\d+/, '"rows":9')))).toContain("seal_changed");
    expect(await kindsOf(own.with(second, seal.replace(/"signature":"./, '"signature":"_')))).toContain("seal_changed");
    expect(await kindsOf(own.with(second, seal.replace(/key [0-9a-f]{4}/, "key 0000")))).toContain("seal_changed");
  });

  it("every changed byte of a row or a seal", async () => {
    const { own, seals } = ownLines();
    const keys = await keysOf(tenants[0]);
    const [first = 0, second = 0] = seals;
    const file = Buffer.from(`${own.join("\n")}\n`);
    const offset = (line: number) =>
      Buffer.byteLength(
        own
          .slice(0, line)
          .map((text) => `${text}\n`)
          .join(""),
      );
    const missed: number[] = [];
    // One row and its minute's seal; later seals follow.
    for (const line of [first + 1, second]) {
      for (let at = offset(line); at < offset(line + 1) - 1; at += 1) {
        const byte = file[at] ?? 0;
        file[at] = byte ^ (1 << (at % 8));
        async function* input() {
          yield file;
        }
        if ((await verifyReceived(input(), keys)).state !== "tampered") missed.push(at);
        file[at] = byte;
      }
    }
    expect(missed).toEqual([]);
  });
});
