import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DirectoryTarget } from "../../src/backups/directory-target.js";
import { backupName, type Manifest, manifestLine } from "../../src/backups/manifest.js";
import { expiredBackups, leftovers, removeExpired } from "../../src/backups/retention.js";
import { listBackups } from "../../src/backups/stored-backups.js";
import { newDirectory } from "../support/new-directory.js";

const DAY_MS = 86_400_000;
const NOW = new Date("2026-11-23T20:00:00Z");
const backups = fc
  .uniqueArray(fc.integer({ min: 0, max: 4_000 }), { maxLength: 30 })
  .map((hours) => hours.map((hour) => ({ name: `h${hour}`, takenAt: new Date(NOW.getTime() - hour * 3_600_000) })));
const rule = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined });

async function put(target: DirectoryTarget, takenAt: Date): Promise<Manifest> {
  const described = {
    name: backupName(takenAt, "0a0b0c0d"),
    vault: "fingerprint",
    taken_at: takenAt.toISOString(),
    position: "0/1",
    server_version: "1.0.0",
    postgres_version: "18.0",
    migrations: [],
    root_keys: [],
    rows: {},
    bytes: 0,
    sha256: "",
  };
  await target.write(`${described.name}.export`, pieces(Buffer.alloc(0)));
  await target.write(`${described.name}.json`, pieces(manifestLine(described)));
  return { format: "cloakroom-backup-1", ...described };
}

async function* pieces(content: Buffer) {
  yield content;
}

describe("retention", () => {
  it("removes exactly what no rule keeps, never the newest, and nothing more the second time", () => {
    fc.assert(
      fc.property(backups, rule(20), rule(200), (all, keep, keepDays) => {
        const expired = new Set(expiredBackups(all, { keep, keepDays }, NOW));
        const newestFirst = all.toSorted((a, b) => b.takenAt.getTime() - a.takenAt.getTime());
        for (const [place, backup] of newestFirst.entries()) {
          const isByCount = keep !== undefined && place < keep;
          const isByAge = keepDays !== undefined && NOW.getTime() - backup.takenAt.getTime() <= keepDays * DAY_MS;
          const hasRule = keep !== undefined || keepDays !== undefined;
          expect(expired.has(backup)).toBe(hasRule && place > 0 && !isByCount && !isByAge);
        }
        const rest = all.filter((backup) => !expired.has(backup));
        expect(expiredBackups(rest, { keep, keepDays }, NOW)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("keeps the backup just taken beside those with later times, of a clock that was ahead or of a planted manifest", async () => {
    const target = new DirectoryTarget(newDirectory());
    const older = await put(target, new Date("2026-11-20T00:00:00Z"));
    const newest = await put(target, NOW);
    const later = await put(target, new Date("2027-01-01T00:00:00Z"));
    expect(await removeExpired(target, newest, { keep: 1, keepDays: undefined })).toEqual([older.name]);
    expect(await listBackups(target)).toEqual([newest.name, later.name]);
  });

  it("takes for remains of killed runs only old files of backups that lack a manifest", () => {
    const old = "cloakroom-20261101T000000Z-0a0b0c0d";
    const young = "cloakroom-20261123T190000Z-0a0b0c0e";
    const whole = "cloakroom-20261102T000000Z-0a0b0c0f";
    const files = [
      ...[`${old}.export`, `${old}.export.1f.unfinished`, `${old}.json.1f.unfinished`],
      ...[`${young}.export`, `${young}.export.1f.unfinished`, `${whole}.export`, `${whole}.json`],
      ...["notes.txt", "cloakroom-old.export", "other-20261101T000000Z-0a0b0c0d.export"],
    ];
    expect(leftovers(files, NOW)).toEqual(files.slice(0, 3));
  });
});
