import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lastClosable, sealUntilNow } from "../../src/audit/chain/proven-until.js";
import { endText, type Manifest } from "../../src/audit/export/export-format.js";
import { type ExportRange, exportRange, wholeMinutes } from "../../src/audit/export/export-range.js";
import { type ExportVerdict, verifyExport } from "../../src/audit/verify/verify-export.js";
import type { TenantId } from "../../src/base/ids.js";
import { logSigningKey, signingKeyFingerprint, signLogText } from "../../src/crypto/log-signing.js";
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

/**
 * Where bytes are changed: each byte of the first line of every kind and of the last line, and each seventh of the others,
 * which the same code reads.
 */
function tellingBytes(file: string): number[] {
  const lines = linesOf(file);
  const kindOf = (line: string) => /"kind":"\w+"/.exec(line)?.[0];
  const kinds = lines.map(kindOf);
  const bytes: number[] = [];
  let start = 0;
  for (const [index, line] of lines.entries()) {
    const isWhole = kinds.indexOf(kinds[index]) === index || index === lines.length - 1;
    for (let at = 0; at <= line.length; at += isWhole ? 1 : 7) bytes.push(start + at);
    start += line.length + 1;
  }
  return bytes.filter((at) => at < file.length);
}

describe("a signed export", () => {
  it("is good for an auditor who has the fingerprint alone", async () => {
    const { tenantId, all, minute } = await sealedTenant();
    const file = await exported(tenantId, all);
    expect(await verified(file, await keyOf(tenantId))).toMatchObject({
      ...{ state: "good", rows: 12, entries: 5, removedMinutes: 0, findings: [], reasons: [] },
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
    await ledger.database.of(tenantId).bulk((tx) => tx.query(closeLog, closing));
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

  it("finds signatures that were taken away, of some entries or of all", async () => {
    const { tenantId, all } = await sealedTenant();
    const key = await keyOf(tenantId);
    for (const which of ["where number <= 2", ""]) {
      await ledger.tamper(tenantId, `update audit_seals set signed_body = null, signature = null ${which}`);
      const found = await verified(await exported(tenantId, all), key);
      expect(found.state).toBe("tampered");
      expect(found.findings.map(({ kind }) => kind)).toContain("seal_changed");
      expect((await ledger.verify(tenantId)).findings.map(({ kind }) => kind)).toContain("seal_changed");
    }
  });

  it("finds an entry or a head of another format, which is named", async () => {
    const { tenantId } = await sealedTenant();
    const detailsAfter = async (statement: string) => {
      await ledger.tamper(tenantId, statement);
      return (await ledger.verify(tenantId)).findings.map(({ detail }) => detail);
    };
    expect(await detailsAfter("update audit_seals set version = 7 where number = 2")).toContain(
      "this seal has the format 7; this version of Cloakroom knows format 1",
    );
    expect(await detailsAfter("update audit_heads set version = 8")).toContain(
      "the record of where the chain ends has the format 8; this version of Cloakroom knows format 1",
    );
  });

  it("does not decide about an entry of another format that the tenant's key signed, and names it", async () => {
    const { tenantId, all } = await sealedTenant();
    const [key, file] = [await keyOf(tenantId), await exported(tenantId, all)];
    const own = logSigningKey((await ledger.keyring.of(tenantId)).audit, tenantId);
    const changed = async (isOwn: boolean) => {
      const lines = file.split("\n");
      const at = lines.findIndex((line) => line.startsWith('{"kind":"seal"'));
      const { kind, body, signature } = JSON.parse(lines[at] ?? "");
      const later = String(body).replace("cloakroom/audit-seal/1 ", "cloakroom/audit-seal/2 more ");
      const signed = isOwn ? (await signLogText(own, later)).toString("base64") : signature;
      return lines.with(at, JSON.stringify({ kind, body: later, signature: signed })).join("\n");
    };
    expect(await verified(await changed(true), key)).toMatchObject({
      ...{ state: "unknown", reasons: ["an entry has the format 2; this version of Cloakroom knows format 1"] },
      findings: [],
    });
    expect(await verified(await changed(false), key)).toMatchObject({ state: "tampered" });
  });

  it("says which minutes were removed after their retention", async () => {
    const { time } = ledger.clock;
    ledger.clock.time = time - 100 * DAY;
    const { tenantId, all } = await sealedTenant();
    ledger.clock.time += 60 * DAY;
    await ledger.log(tenantId, 2);
    later(3);
    await ledger.runJob({ retentionDays: 20 });
    const until = new Date(ledger.clock.time);
    ledger.clock.time = time;
    expect(await verified(await exported(tenantId, { since: all.since, until }), await keyOf(tenantId))).toMatchObject({
      ...{ state: "good", rows: 2, entries: 6, removedMinutes: 5, findings: [] },
    });
  });
});

describe("an export after an earlier one", () => {
  const earlierOf = async (file: string, key: string) => {
    const { manifest, last } = await verified(file, key);
    if (!manifest || !last) throw new Error("the earlier export has no entry");
    return { manifest, last };
  };

  it("is good if it continues that one, and names what is in neither of both", async () => {
    const { tenantId, minute } = await sealedTenant();
    const key = await keyOf(tenantId);
    const part = (since: number, until: number) => exported(tenantId, { since: minute(since), until: minute(until) });
    const after = await earlierOf(await part(0, 2), key);
    const verify = async (file: string) => verifyExport(inOnePiece(Buffer.from(file)), { fingerprint: key, after });
    for (const next of [await part(2, 5), await part(1, 4)]) {
      expect(await verify(next)).toMatchObject({ state: "good", findings: [], warnings: [] });
    }
    const first = await earlierOf(await part(0, 1), key);
    const gap = await verifyExport(inOnePiece(Buffer.from(await part(4, 5))), { fingerprint: key, after: first });
    expect(gap.findings).toMatchObject([
      { kind: "seal_missing", detail: "the earlier file ends with entry 2, and this one begins with entry 4" },
    ]);
  });

  it("is not good if the chain was cut off and has grown again in between", async () => {
    const { tenantId, minute, all } = await sealedTenant();
    const key = await keyOf(tenantId);
    const after = await earlierOf(await exported(tenantId, all), key);
    const other = await sealedTenant();
    const foreign = await exported(other.tenantId, other.all);
    const trust = { fingerprint: await keyOf(other.tenantId), after };
    expect(kindsOf(await verifyExport(inOnePiece(Buffer.from(foreign)), trust))).toContain("key_changed");
    const start = { since: minute(0), until: minute(2) };
    const cut = (await exported(tenantId, start)).replace(/"head":[0-9]+/, '"head":3');
    const { findings } = await verifyExport(inOnePiece(Buffer.from(cut)), { fingerprint: key, after });
    expect(findings.map(({ detail }) => detail)).toContain(
      "the chain ends at entry 3, and the earlier file has entry 5",
    );
  });

  it("warns where it ends before its range", async () => {
    const { tenantId, minute } = await sealedTenant();
    const file = await exported(tenantId, { since: minute(0), until: minute(30) });
    expect(await verified(file, await keyOf(tenantId))).toMatchObject({
      state: "good",
      warnings: [expect.stringMatching(/^the file proves nothing about the time from .* the end of its range$/)],
    });
  });
});

describe("an auditor detects", () => {
  it("a changed byte", async () => {
    const { tenantId, minute } = await sealedTenant();
    const key = await keyOf(tenantId);
    const file = Buffer.from(await exported(tenantId, { since: minute(1), until: minute(3) }));
    const missed: number[] = [];
    expect(new Set(linesOf(file.toString()).map((line) => JSON.parse(line).kind)).size).toBeGreaterThan(2);
    for (const at of tellingBytes(file.toString("latin1"))) {
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
    for (let length = 0; length < file.length; length += 31) {
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
    const [fingerprint, key] = [signingKeyFingerprint(spki), await keyOf(tenantId)];
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
