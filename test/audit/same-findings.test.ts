import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Finding } from "../../src/audit/chain/findings.js";
import { exportRange } from "../../src/audit/export/export-range.js";
import { readRowJson, rowJson } from "../../src/audit/export/row-json.js";
import { verifyExport } from "../../src/audit/verify/verify-export.js";
import { verifyLog } from "../../src/audit/verify/verify-log.js";
import { verifyReceived } from "../../src/audit/verify/verify-received.js";
import type { TenantId } from "../../src/base/ids.js";
import { logSigningKey, readLogPublicKey } from "../../src/crypto/log-signing.js";
import type { TenantKeys } from "../../src/crypto/tenant-keys.js";
import type { HeadRow, SealRow } from "../../src/store/audit/audit-seals.js";
import { type LogSnapshot, readLogSnapshot } from "../../src/store/audit/log-snapshot.js";
import type { RawLogRow } from "../../src/store/audit/raw-log.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

/** A log as records: rows, each minute followed by its entry. */
type LogRecord = { readonly kind: "row"; readonly row: RawLogRow } | { readonly kind: "seal"; readonly seal: SealRow };

let ledger: Ledger;
let tenantId: TenantId;
let keys: TenantKeys;
let records: readonly LogRecord[];
let head: HeadRow | undefined;
let manifest: string;
let end: string;

beforeAll(async () => {
  ledger = await openLedger();
  ledger.clock.time = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
  const since = new Date(ledger.clock.time);
  tenantId = await ledger.newTenant();
  for (const rows of [1, 3, 2, 4, 2]) {
    ledger.clock.time += MINUTE;
    await ledger.log(tenantId, rows);
  }
  ledger.clock.time += 3 * MINUTE;
  await ledger.runJob();
  keys = await ledger.keyring.of(tenantId);
  const range = { since, until: new Date(ledger.clock.time) };
  const log = { tenantId, keys, isWhole: true, tokenOf: async () => undefined };
  await readLogSnapshot(ledger.stored.address, tenantId, async (snapshot) => {
    const seals = new Map<string, SealRow>();
    for await (const page of snapshot.seals()) for (const seal of page) seals.set(seal.signed_body ?? "", seal);
    let text = "";
    for await (const piece of exportRange(snapshot, log, range, () => {})) text += piece;
    const [first = "", ...lines] = text.trimEnd().split("\n");
    manifest = first;
    end = lines.pop() ?? "";
    head = snapshot.head;
    records = lines.map((line): LogRecord => {
      const row = line.startsWith('{"kind":"row"') ? readRowJson(tenantId, line) : undefined;
      if (row) return { kind: "row", row };
      const seal = seals.get(JSON.parse(line).body);
      if (!seal) throw new Error("an entry of the export is not in the database");
      return { kind: "seal", seal };
    });
  });
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

function isRow(record: LogRecord) {
  return record.kind === "row";
}

async function* bytesOf(lines: readonly string[]) {
  yield Buffer.from(`${lines.join("\n")}\n`);
}

function lineOf(record: LogRecord, place: "export" | "sink"): string {
  if (record.kind === "row") return JSON.stringify(rowJson(tenantId, record.row));
  const { signed_body: body, signature, number, row_count: rows } = record.seal;
  const signed = { body, signature: signature?.toString("base64") };
  return JSON.stringify(
    place === "export" ? { kind: "seal", ...signed } : { kind: "seal", tenant_id: tenantId, number, rows, ...signed },
  );
}

/** The database with these rows and entries, and the head of before. */
function snapshotOf(log: readonly LogRecord[]): LogSnapshot {
  const rows = log.flatMap((record) => (record.kind === "row" ? record.row : []));
  const seals = log.flatMap((record) => (record.kind === "seal" ? record.seal : []));
  return {
    head,
    sealedRows: rows.length,
    setBacks: [],
    takenAt: new Date(ledger.clock.time),
    closedUntil: undefined,
    async *seals() {
      yield seals;
    },
    async *rows() {
      yield rows;
    },
    countRows: async () => rows.length,
    async *rightsRows() {},
    anchors: async () => [],
    numbersOf: async () => ({ first: 1, last: seals.length, head: seals.length }),
  };
}

/** What belongs to one source alone: the file's hash, the record of the end. */
const OF_ONE_SOURCE = ["file_changed", "end_changed"];
const shown = (findings: readonly Finding[]) =>
  findings
    .filter(({ kind }) => !OF_ONE_SOURCE.includes(kind))
    .map(({ kind, minute, detail }) => `${kind} ${minute?.toISOString()} ${kind === "seal_changed" ? "" : detail}`)
    .toSorted();

async function findingsOf(log: readonly LogRecord[]) {
  const key = logSigningKey(keys.audit, tenantId);
  const publicKey = readLogPublicKey(key.publicKey);
  const lines = [manifest, ...log.map((record) => lineOf(record, "export")), end];
  const sent = log.map((record) => lineOf(record, "sink"));
  const [stored, exported, received] = await Promise.all([
    verifyLog(snapshotOf(log), keys, { seen: undefined, onProgress: () => {} }),
    verifyExport(bytesOf(lines), { fingerprint: key.fingerprint }),
    verifyReceived(bytesOf(sent), publicKey ? new Map([[key.fingerprint, publicKey]]) : new Map()),
  ]);
  return [stored, exported, received].map(({ findings }) => shown(findings));
}

const FIELDS = ["message", "entity_id", "operation", "source_ip", "reason", "actor_id", "changes"] as const;
const nth = fc.nat({ max: 1_000 });

interface Tampering {
  readonly what: string;
  readonly at: number;
  readonly field?: (typeof FIELDS)[number];
  readonly text?: string;
}

/** A change of a row, of a row's absence or presence, or the absence of an entry between two others. */
const tampering: fc.Arbitrary<Tampering> = fc.oneof(
  fc.record({ what: fc.constant("edit"), at: nth, field: fc.constantFrom(...FIELDS), text: fc.string() }),
  fc.record({ what: fc.constant("remove"), at: nth }),
  fc.record({ what: fc.constant("add"), at: nth }),
  fc.record({ what: fc.constant("take out an entry"), at: nth }),
  fc.record({ what: fc.constant("break a signature"), at: nth }),
);

function tampered(log: readonly LogRecord[], change: Tampering): LogRecord[] {
  const wanted = change.what.startsWith("take") || change.what.startsWith("break") ? "seal" : "row";
  const found = log.flatMap((record, index) => (record.kind === wanted ? index : []));
  // A part of the log may begin with any entry and end before any.
  const inner = wanted === "row" ? found : found.slice(1, -1);
  const at = inner[change.at % inner.length] ?? 0;
  const record = log[at];
  if (!record || change.what === "remove" || change.what === "take out an entry") return log.toSpliced(at, 1);
  if (record.kind === "seal") {
    const signature = Buffer.from(record.seal.signature ?? "");
    signature[0] = (signature[0] ?? 0) ^ 1;
    return log.toSpliced(at, 1, { kind: "seal", seal: { ...record.seal, signature } });
  }
  const { row } = record;
  // An id right behind that of the row: the order of rows stays.
  if (change.what === "add") return log.toSpliced(at + 1, 0, { kind: "row", row: { ...row, id: `${row.id}0` } });
  const { field = "message", text = "" } = change;
  return log.toSpliced(at, 1, { kind: "row", row: { ...row, [field]: text } });
}

describe("a log in the database, in an export and at a receiver", () => {
  it("has no finding as it was written", async () => {
    expect(records.filter(isRow)).toHaveLength(16);
    expect(await findingsOf(records)).toEqual([[], [], []]);
  });

  it("has the same findings in all three after any one change", async () => {
    await fc.assert(
      fc.asyncProperty(tampering, async (change) => {
        const log = tampered(records, change);
        fc.pre(JSON.stringify(log) !== JSON.stringify(records));
        const [stored = [], exported, received] = await findingsOf(log);
        expect(stored.length).toBeGreaterThan(0);
        expect(exported).toEqual(stored);
        expect(received).toEqual(stored);
      }),
      { numRuns: 300 },
    );
  });
});
