import { describe, expect, it } from "vitest";
import type { SinkRecord } from "../../src/sinks/sink.js";
import { syslogFrame, syslogHost } from "../../src/sinks/syslog-message.js";

const record = (fields: SinkRecord["fields"], outcome: SinkRecord["outcome"] = "allowed"): SinkRecord => ({
  ...{ id: "1", time: "2026-11-22T07:11:02.123456Z", name: "card.read", outcome },
  ...{ message: "Card retrieved", traceId: undefined, fields },
});

/** The message of a frame, whose length must be right. */
function messageOf(frame: Buffer): string {
  const space = frame.indexOf(" ");
  const message = frame.subarray(space + 1);
  expect(frame.toString("utf8", 0, space)).toBe(String(message.length));
  return message.toString("utf8");
}

describe("a syslog message", () => {
  it("has the parts of RFC 5424", () => {
    const frame = syslogFrame(record({ kind: "row", number: 7, code: null }, "denied"), "vault-1");
    expect(messageOf(frame)).toBe(
      `<108>1 2026-11-22T07:11:02.123456Z vault-1 cloakroom ${process.pid} card.read [cloakroom@32473 kind="row" number="7"] Card retrieved`,
    );
  });

  it("escapes quotes, brackets and backslashes, and counts bytes", () => {
    expect(messageOf(syslogFrame(record({ reason: 'a"b]c\\d é😀' }), "h"))).toContain('reason="a\\"b\\]c\\\\d é😀"');
  });

  it.each(["x".repeat(5_000), '"'.repeat(5_000), "é".repeat(3_000), "😀".repeat(2_000), "\\]".repeat(2_500)])(
    "is at most 2,048 bytes long, and says what was cut",
    (reason) => {
      const frame = syslogFrame(record({ id: "kept", reason }), "h");
      const message = messageOf(frame);
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(2_048);
      expect(Buffer.byteLength(message)).toBeGreaterThan(1_900);
      expect(message).toContain('id="kept"');
      expect(message).toMatch(/ cut="reason"\] Card retrieved$/);
      expect(message).not.toContain("\ufffd");
    },
  );

  it("has no host name that is not plain ASCII", () => {
    expect([syslogHost("vault-1"), syslogHost("a b"), syslogHost("é"), syslogHost("")]).toEqual([
      "vault-1",
      "-",
      "-",
      "-",
    ]);
  });
});
