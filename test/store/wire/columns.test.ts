import { describe, expect, it } from "vitest";
import { RowReader } from "../../../src/store/wire/columns.js";

/** A row of one column that announces so many bytes. */
function rowOf(announced: number, bytes: Buffer): RowReader {
  const size = Buffer.alloc(4);
  size.writeInt32BE(announced);
  const row = new RowReader();
  row.moveTo(Buffer.concat([size, bytes]), 0);
  return row;
}

describe("a column of bytes", () => {
  it("is a copy: the network buffer is reused", () => {
    const bytes = Buffer.from("sealed");
    const received = Buffer.concat([Buffer.from([0, 0, 0, 6]), bytes]);
    const row = new RowReader();
    row.moveTo(received, 0);
    const read = row.bytes();
    received.fill(0);
    expect(read).toEqual(bytes);
  });

  it.each([
    [0, ""],
    [6, "sealed"],
  ])("may end where its row does: %s bytes", (announced, text) => {
    expect(rowOf(announced, Buffer.from(text)).bytes().toString()).toBe(text);
  });

  it("is refused where its row ends before it, and holds no other memory", () => {
    expect(() => rowOf(7, Buffer.from("sealed")).bytes()).toThrow("a row ends within a column");
    expect(() => rowOf(1, Buffer.alloc(0)).bytesOrNull()).toThrow("a row ends within a column");
  });
});
