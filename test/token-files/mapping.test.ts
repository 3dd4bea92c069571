import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/base/json.js";
import { mappedRows } from "../../src/token-files/import-batch.js";
import { type Mapping, readMapping } from "../../src/token-files/mapping.js";
import { readRecords } from "../../src/token-files/records.js";

/** The rows that an import sends, which it keeps a batch at a time. */
async function rowsOf(text: string, mapping?: Mapping): Promise<(JsonObject | null)[]> {
  const source = {
    name: "cards.csv",
    async *read() {
      yield Buffer.from(text);
    },
  };
  const rows: (JsonObject | null)[] = [];
  for await (const { row } of mappedRows(readRecords(source, "csv"), mapping, "csv")) rows.push(row);
  return rows;
}

describe("the values of a mapping", () => {
  it("are each row's own, however the columns add to them", async () => {
    const mapping = readMapping({
      columns: { number: "data.number" },
      values: { type: "card", data: { expiration_month: 1, expiration_year: 2030 } },
    });
    const rows = await rowsOf("number\n4242424242424242\n5555555555554444\n", mapping);
    expect(rows.map((row) => row?.data)).toEqual([
      { expiration_month: 1, expiration_year: 2030, number: "4242424242424242" },
      { expiration_month: 1, expiration_year: 2030, number: "5555555555554444" },
    ]);
  });

  it("are in a row whose cell is empty without what another row has there", async () => {
    const mapping = readMapping({ columns: { a: "data.a", b: "data.b" }, values: { data: { source: "x" } } });
    const rows = await rowsOf("a,b\nsecret,1\n,2\n", mapping);
    expect(rows[1]).toEqual({ data: { source: "x", b: "2" } });
  });
});

describe("a column of CSV that is named like a prototype", () => {
  it("changes no object but its row", async () => {
    const rows = await rowsOf("type,data,__proto__.reason,constructor.reason\ntoken,x,planted,planted\n");
    const planted = Reflect.get({}, "reason");
    Reflect.deleteProperty(Object.prototype, "reason");
    expect(planted).toBeUndefined();
    expect(Object.keys(rows[0] ?? {})).toEqual(["type", "data", "__proto__", "constructor"]);
  });
});
