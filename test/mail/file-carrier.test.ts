import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { fileCarrier } from "../../src/mail/file-carrier.js";

const directory = mkdtempSync(join(tmpdir(), "cloakroom-mail-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const carry = (into: string) =>
  fileCarrier(into, "vault@example.com").carry(
    { to: "ada@example.com", subject: "Hello", text: new Sensitive("Come in.") },
    new AbortController().signal,
  );

describe("a message into a file", () => {
  it("is whole under its name", async () => {
    const into = join(directory, "mail");
    expect(await carry(into)).toBe("sent");
    const [name = "", ...others] = readdirSync(into);
    expect([name, others]).toEqual([expect.stringMatching(/\.eml$/), []]);
    expect(readFileSync(join(into, name), "utf8")).toContain("Come in.");
  });

  it("is told not to be written where there can be no such file", async () => {
    const into = join(directory, "a-file");
    writeFileSync(into, "of somebody else");
    expect(await carry(into)).toBe("not_written");
  });
});
