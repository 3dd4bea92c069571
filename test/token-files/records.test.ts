import { describe, expect, it } from "vitest";
import { type FileRecord, readRecords } from "../../src/token-files/records.js";

async function recordsIn(text: string): Promise<FileRecord[]> {
  const source = {
    name: "cards.csv",
    async *read() {
      yield Buffer.from(text);
    },
  };
  const records: FileRecord[] = [];
  for await (const record of readRecords(source, "csv")) records.push(record);
  return records;
}

describe("a record of CSV", () => {
  it("is read with quotes in several cells, also when a cell is in another one", async () => {
    const [record] = await recordsIn('a,b,c\n"x""y""","""","y"""\n');
    expect(record).toEqual({ line: 2, content: { a: 'x"y"', b: '"', c: 'y"' } });
  });

  it("is refused with a quote that does not match beside one that does", async () => {
    expect(await recordsIn('a,b\n"x""",y"z\n')).toEqual([{ line: 2, problem: expect.stringContaining("quote") }]);
  });

  it("takes work in proportion to its columns, in the header too", async () => {
    const spent = async (count: number) => {
      const names = Array.from({ length: count }, (_, index) => `n${index}`);
      const cells = names.map((name) => `"${name}"""`);
      const before = process.threadCpuUsage();
      const [record] = await recordsIn(`${names.join(",")}\n${cells.join(",")}\n`);
      const { user, system } = process.threadCpuUsage(before);
      expect(record).toMatchObject({ line: 2, problem: expect.stringContaining("longer") });
      return user + system;
    };
    // Compiled by then.
    await spent(10_000);
    // Sixteen times the columns: in proportion sixteen times the work, and 256 times if each is compared with all others.
    const [few, many] = [await spent(10_000), await spent(160_000)];
    expect(many / few).toBeLessThan(80);
  });
});
