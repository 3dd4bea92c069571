import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endText, type Manifest } from "../../src/audit/export-format.js";
import { type ExportRange, exportRange, wholeMinutes } from "../../src/audit/export-range.js";
import { lastClosable, sealUntilNow } from "../../src/audit/proven-until.js";
import { type ExportVerdict, verifyExport } from "../../src/audit/verify-export.js";
import type { TenantId } from "../../src/base/ids.js";
import { fingerprintOf, logSigningKey } from "../../src/crypto/log-signing.js";
import { closeLog } from "../../src/store/audit/audit-seals.js";
import { readLogSnapshot } from "../../src/store/audit/log-snapshot.js";
import { beginRotation } from "../../src/tenancy/tenant-rotation.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

const DAY = 24 * 60 * MINUTE;
const later = (minutes: number) => {
  ledger.clock.time += minutes * MINUTE;
};

/** A tenant with sealed rows in minutes 0 to 4 of `start`. */
async function sealedTenant() {
  const start = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
  ledger.clock.time = start;
  const tenantId = await ledger.newTenant();
  for (const rows of [2, 3, 1, 2]) {
    later(1);
    await ledger.log(tenantId, rows);
  }
  later(3);
  await ledger.runJob();
  const minute = (index: number) => new Date(start + index * MINUTE);
  return { tenantId, minute, all: { since: minute(0), until: minute(5) } };
}

async function keyOf(tenantId: TenantId): Promise<string> {
  return logSigningKey((await ledger.keyring.of(tenantId)).audit, tenantId).fingerprint;
}

async function exported(tenantId: TenantId, range: ExportRange, isWhole = true): Promise<string> {
  const log = { tenantId, keys: await ledger.keyring.of(tenantId), isWhole, tokenOf: async () => undefined };
  return readLogSnapshot(ledger.stored.address, tenantId, async (snapshot) => {
    let text = "";
    for await (const piece of exportRange(snapshot, log, wholeMinutes(range), () => {})) text += piece;
    return text;
  });
}

async function* inOnePiece(bytes: Buffer) {
  yield bytes;
}
const verified = (file: string | Buffer, key?: string): Promise<ExportVerdict> =>
  verifyExport(inOnePiece(Buffer.from(file)), { fingerprint: key });
const kindsOf = ({ findings }: ExportVerdict) => findings.map(({ kind }) => kind);
const linesOf = (file: string) => file.trimEnd().split("\n");

describe("a signed export", () => {
  it("is good for an auditor who has the fingerprint alone", async () => {
    const { tenantId, all, minute } = await sealedTenant();
    const file = await exported(tenantId, all);
    expect(await verified(file, await keyOf(tenantId))).toMatchObject({
      ...{ state: "good", rows: 12, entries: 5, unsignedRows: 0, removedMinutes: 0, findings: [], reasons: [] },
      sealedUntil: minute(5),
    });
    expect((await ledger.verify(tenantId)).findings).toEqual([]);
  });

  it("shows the entries before and after it, if it covers a part of the log", async () => {
    const { tenantId, minute } = await sealedTenant();
    const file = await exported(tenantId, { since: new Date(minute(2).getTime() + 1), until: minute(3) });
    expect(linesOf(file).map((line) => /"kind":"([a-z]+)"/.exec(line)?.[1])).toEqual([
      ...["manifest", "link", "row", "row", "row", "seal", "link", "end"],
    ]);
    expect(await verified(file, await keyOf(tenantId))).toMatchObject({ state: "good", rows: 3, entries: 3 });
  });

  it("is signed by the same key across a replacement of the tenant's keys", async () => {
    const { tenantId, minute } = await sealedTenant();
    const before = await keyOf(tenantId);
    const { database, rootKeys } = ledger;
    expect(await beginRotation({ database, rootKeys }, tenantId)).toBe("begun");
    ledger.clock.time = minute(10).getTime();
    await ledger.log(tenantId, 2);
    later(3);
    const server = ledger.another();
    expect((await ledger.runJob({ server })).failed).toEqual([]);
    const versions = "select distinct version from tenant_keys where purpose = 'audit'";
    expect(await ledger.rows(tenantId, versions)).toEqual([{ version: 1 }]);
    const keys = await server.keyring.of(tenantId);
    expect([keys.data.current, logSigningKey(keys.audit, tenantId).fingerprint]).toEqual([2, before]);
    // The replacement of the keys has a row too.
    const file = await exported(tenantId, { since: minute(0), until: minute(11) });
    expect(await verified(file, before)).toMatchObject({ state: "good", rows: 15, findings: [], reasons: [] });
  });

  it("proves that a time without rows had none", async () => {
    const { tenantId, minute } = await sealedTenant();
    later(10);
    await ledger.log(tenantId, 1);
    later(3);
    await ledger.runJob();
    const file = await exported(tenantId, { since: minute(6), until: minute(9) });
    expect(await verified(file, await keyOf(tenantId))).toMatchObject({ state: "good", rows: 0, entries: 2 });
  });

  it("proves by the vault's word that nothing is missing after the last row", async () => {
    const { tenantId, minute } = await sealedTenant();
    later(20);
    const now = new Date(ledger.clock.time);
    const range = { since: minute(1), until: new Date(now.getTime() + 60 * MINUTE) };
    const key = await keyOf(tenantId);
    // The log is closed up to the last seal.
    expect(await verified(await exported(tenantId, range), key)).toMatchObject({
      state: "good",
      sealedUntil: minute(5),
    });
    expect(await sealUntilNow(ledger, tenantId, now)).toBe(true);
    const proven = await exported(tenantId, range);
    expect(await verified(proven, key)).toMatchObject({ state: "good", rows: 8, sealedUntil: lastClosable(now) });
    const moved = proven.replace(/"sealed_until":"[^"]+"/, `"sealed_until":"${range.until.toISOString()}"`);
    expect(kindsOf(await verified(moved, key))).toEqual(["file_changed"]);
    // A range that ends earlier is proven up to its end, also without rows.
    const idle = { since: minute(8), until: minute(10) };
    expect(await verified(await exported(tenantId, idle), key)).toMatchObject({
      ...{ state: "good", rows: 0, sealedUntil: minute(10) },
    });
  });

  it("proves nothing about rows that are not sealed yet, or after tampering", async () => {
    const { tenantId, minute } = await sealedTenant();
    const key = await keyOf(tenantId);
    later(10);
    await ledger.log(tenantId, 1);
    const logged = new Date(Math.floor(ledger.clock.time / MINUTE) * MINUTE);
    later(10);
    const now = new Date(ledger.clock.time);
    const range = { since: minute(1), until: now };
    // Closed by a process that ended before it sealed.
    const closing = { until: lastClosable(now), notBefore: now };
    await ledger.database.bulk.run(tenantId, "unguarded", (tx) => tx.query(closeLog, closing));
    expect(await verified(await exported(tenantId, range), key)).toMatchObject({ state: "good", sealedUntil: logged });
    expect(await sealUntilNow(ledger, tenantId, now)).toBe(true);
    expect(await verified(await exported(tenantId, range), key)).toMatchObject({
      ...{ state: "good", rows: 9, sealedUntil: lastClosable(now) },
    });
    expect(await verified(await exported(tenantId, range, false), key)).toMatchObject({
      ...{ state: "good", sealedUntil: new Date(logged.getTime() + MINUTE) },
    });
    await ledger.tamper(tenantId, "delete from audit_seals where number = (select max(number) from audit_seals)");
    expect(linesOf(await exported(tenantId, range)).at(-1)).toContain('"sealed_until":null');
    // The chain goes on with a gap.
    expect(await sealUntilNow(ledger.another(), tenantId, now)).toBe(false);
    expect(kindsOf(await verified(await exported(tenantId, range), key))).toContain("seal_missing");
  });

  it("proves nothing without the fingerprint from elsewhere", async () => {
    const { tenantId, all } = await sealedTenant();
    expect(await verified(await exported(tenantId, all))).toMatchObject({
      ...{ state: "unknown", reasons: [expect.stringContaining("--key")], findings: [] },
    });
  });

  it("says which rows a release without signatures sealed", async () => {
    const { tenantId, all, minute } = await sealedTenant();
    await ledger.tamper(tenantId, "update audit_seals set signed_body = null, signature = null where number <= 2");
    const [key, file] = [await keyOf(tenantId), await exported(tenantId, all)];
    expect(await verified(file, key)).toMatchObject({ state: "tampered" });
    // A signature that follows names the last signed entry, so only the first ones of a chain can lack theirs.
    await ledger.tamper(tenantId, "update audit_seals set signed_body = null, signature = null");
    later(1);
    await ledger.log(tenantId, 2);
    later(3);
    await ledger.runJob();
    const mixed = await exported(tenantId, { since: minute(0), until: new Date(ledger.clock.time) });
    expect(await verified(mixed, key)).toMatchObject({ state: "unknown", unsignedRows: 12, rows: 14, findings: [] });
    const newer = await exported(tenantId, { since: minute(6), until: new Date(ledger.clock.time) });
    expect(await verified(newer, key)).toMatchObject({ state: "good", unsignedRows: 0, rows: 2 });
  });

  it("says which minutes were removed after their retention", async () => {
    const { time } = ledger.clock;
    ledger.clock.time = time - 40 * DAY;
    const { tenantId, all } = await sealedTenant();
    ledger.clock.time += 35 * DAY;
    await ledger.log(tenantId, 2);
    later(3);
    await ledger.runJob({ retentionDays: 30 });
    const until = new Date(ledger.clock.time);
    ledger.clock.time = time;
    expect(await verified(await exported(tenantId, { since: all.since, until }), await keyOf(tenantId))).toMatchObject({
      ...{ state: "good", rows: 2, entries: 6, removedMinutes: 5, findings: [] },
    });
  });
});

describe("an auditor detects", () => {
  it("every changed byte", { timeout: 60_000 }, async () => {
    const { tenantId, minute } = await sealedTenant();
    const key = await keyOf(tenantId);
    const file = Buffer.from(await exported(tenantId, { since: minute(1), until: minute(3) }));
    const missed: number[] = [];
    for (let at = 0; at < file.length; at += 1) {
      const byte = file[at] ?? 0;
      file[at] = byte ^ (1 << (at % 8));
      if ((await verified(file, key)).state !== "tampered") missed.push(at);
      file[at] = byte;
    }
    // A digit of the format's version, which makes a file of a release that this one does not know.
    const version = file.indexOf("cloakroom-audit-export/1") + "cloakroom-audit-export/".length;
    expect(missed.filter((at) => at !== version)).toEqual([]);
    expect((await verified(file, key)).state).toBe("good");
  });

  it("a file that is cut anywhere", async () => {
    const { tenantId, minute } = await sealedTenant();
    const key = await keyOf(tenantId);
    const file = await exported(tenantId, { since: minute(1), until: minute(3) });
    for (let length = 0; length < file.length; length += 7) {
      expect((await verified(file.slice(0, length), key)).state).toBe("tampered");
    }
    expect(await verified(`${file}\n`, key)).toMatchObject({ state: "tampered" });
    expect(await verified(`${file}${file}`, key)).toMatchObject({ state: "tampered" });
  });

  it("swapped rows, swapped minutes and removed minutes, also behind a hash made to fit", async () => {
    const { tenantId, all } = await sealedTenant();
    const key = await keyOf(tenantId);
    const lines = linesOf(await exported(tenantId, all));
    const seals = lines.flatMap((line, index) => (line.startsWith('{"kind":"seal"') ? index : []));
    const [first = 0, second = 0, third = 0] = seals;
    const minutes = (from: number, to: number) => lines.slice(from + 1, to + 1);
    const without = [...lines.slice(0, first + 1), ...lines.slice(second + 1)];
    const swapped = [
      ...lines.slice(0, first + 1),
      ...minutes(second, third),
      ...minutes(first, second),
      ...lines.slice(third + 1),
    ];
    const rows = [...lines];
    [rows[first + 1], rows[first + 2]] = [lines[first + 2] ?? "", lines[first + 1] ?? ""];
    for (const changed of [without, swapped, rows]) {
      const verdict = await verified(rehashed(changed), key);
      expect(verdict.state).toBe("tampered");
      expect(kindsOf(verdict).filter((kind) => kind !== "file_changed").length).toBeGreaterThan(0);
    }
  });

  it("the log of another tenant in the file", async () => {
    const [one, two] = [await sealedTenant(), await sealedTenant()];
    const key = await keyOf(one.tenantId);
    const lines = linesOf(await exported(one.tenantId, one.all));
    const others = linesOf(await exported(two.tenantId, two.all));
    const merged = [...lines.slice(0, -1), ...others.slice(1, -1), ...lines.slice(-1)];
    expect((await verified(rehashed(merged), key)).state).toBe("tampered");
    const renamed = others.join("\n").replaceAll(two.tenantId, one.tenantId);
    expect((await verified(`${renamed}\n`, key)).state).toBe("tampered");
    expect(kindsOf(await verified(`${others.join("\n")}\n`, key))).toContain("key_changed");
  });

  it("a manifest of another range", async () => {
    const { tenantId, minute } = await sealedTenant();
    const key = await keyOf(tenantId);
    const lines = linesOf(await exported(tenantId, { since: minute(1), until: minute(3) }));
    const wider = JSON.parse(lines[0] ?? "");
    lines[0] = JSON.stringify({ ...wider, since: minute(0).toISOString(), until: minute(5).toISOString() });
    expect(kindsOf(await verified(rehashed(lines), key))).toEqual(
      expect.arrayContaining(["range_incomplete", "file_changed"]),
    );
  });

  it("a file that somebody signed with an own key, by the fingerprint alone", async () => {
    const { tenantId, all } = await sealedTenant();
    const own = generateKeyPairSync("ed25519");
    const spki = own.publicKey.export({ format: "der", type: "spki" });
    const [fingerprint, key] = [fingerprintOf(spki), await keyOf(tenantId)];
    const file = (await exported(tenantId, all)).replaceAll(key, fingerprint);
    let hash = "";
    const lines = linesOf(file).map((line) => {
      const value = JSON.parse(line);
      if (value.kind === "manifest") return JSON.stringify({ ...value, public_key: spki.toString("base64") });
      if (value.kind !== "seal" && value.kind !== "link") return line;
      const body = value.body.replace(/previous (\d+) [0-9a-f]+/, (found: string, number: string) =>
        hash === "" ? found : `previous ${number} ${hash}`,
      );
      hash = createHash("sha256").update(body).digest("hex");
      const signature = sign(null, Buffer.from(body), own.privateKey).toString("base64");
      return JSON.stringify({ ...value, body, signature });
    });
    const forged = rehashed(lines, (text) => sign(null, Buffer.from(text), own.privateKey));
    expect(await verified(forged)).toMatchObject({ state: "unknown", findings: [] });
    expect(await verified(forged, fingerprint)).toMatchObject({ state: "good" });
    expect(kindsOf(await verified(forged, key))).toEqual(["key_changed"]);
  });
});

/** The lines with a last one whose hash fits, signed if that is possible. */
function rehashed(lines: readonly string[], signed?: (text: string) => Buffer): string {
  const content = `${lines.slice(0, -1).join("\n")}\n`;
  const manifest: Manifest = JSON.parse(lines[0] ?? "");
  const { rows, entries, sealed_until, signature } = JSON.parse(lines.at(-1) ?? "");
  const end = { rows, entries, sealed_until, sha256: createHash("sha256").update(content).digest("hex") };
  const own = signed?.(endText(manifest, end)).toString("base64") ?? signature;
  return `${content}${JSON.stringify({ kind: "end", ...end, signature: own })}\n`;
}
