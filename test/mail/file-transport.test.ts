import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { fileTransport } from "../../src/mail/file-transport.js";
import { textOf } from "../support/mail.js";

const directory = mkdtempSync(join(tmpdir(), "cloakroom-mail-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const send = (into: string) =>
  fileTransport(into, "vault@example.com").send(
    {
      to: "ada@example.com",
      subject: "Hello",
      text: new Sensitive("Come in."),
      html: new Sensitive("<p>Come in.</p>"),
    },
    new AbortController().signal,
  );

describe("a message into a file", () => {
  it("is complete under its name", async () => {
    const into = join(directory, "mail");
    expect(await send(into)).toBe("sent");
    const [name = "", ...others] = readdirSync(into);
    expect([name, others]).toEqual([expect.stringMatching(/\.eml$/), []]);
    expect(readFileSync(join(into, name), "utf8")).toContain("Come in.");
  });

  it("does not break lines, so a link in the file can be opened", async () => {
    const into = join(directory, "links");
    const link = `https://vault.example.com/invitations/${"x".repeat(120)}`;
    const message = { to: "ada@example.com", subject: "Grüße", text: new Sensitive(`Für Ada:\n\n${link}\n`) };
    const html = new Sensitive(`<p>F&#252;r Ada: <a href="${link}">open</a></p>`);
    expect(await fileTransport(into, "vault@example.com").send({ ...message, html }, AbortSignal.any([]))).toBe("sent");
    const raw = readFileSync(join(into, readdirSync(into)[0] ?? ""), "utf8");
    expect(raw.split("\n")).toEqual(expect.arrayContaining(["Für Ada:", link, html.reveal()]));
    expect(textOf(raw)).toBe(`Für Ada:\n\n${link}\n\n`);
    expect(textOf(raw, "text/html")).toBe(`${html.reveal()}\n`);
  });

  it("fails with an error if the file cannot be created", async () => {
    const into = join(directory, "a-file");
    writeFileSync(into, "of somebody else");
    expect(await send(into)).toBe("not_written");
  });
});
