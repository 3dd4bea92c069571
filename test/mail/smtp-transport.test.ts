import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { smtpTransport } from "../../src/mail/smtp-transport.js";

/** A mail server that replies from a list, by the first word of a command, and records what it receives. */
async function speaking(replies: Readonly<Record<string, string>>) {
  const heard: string[] = [];
  const server = createServer((socket) => {
    let isData = false;
    socket.on("error", () => {});
    socket.write(replies.greeting ?? "220 hello\r\n");
    socket.on("data", (chunk) => {
      const text = chunk.toString();
      heard.push(text);
      if (isData && !text.endsWith("\r\n.\r\n")) return;
      const verb = isData ? "message" : (text.split(/[ \r]/, 1)[0] ?? "");
      isData = verb === "DATA";
      if (verb === "QUIT") socket.end("221 bye\r\n");
      else socket.write(replies[verb] ?? (isData ? "354 go on\r\n" : "250 ok\r\n"));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  servers.push(server);
  return { heard, url: `smtp://127.0.0.1:${address.port}` };
}
const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const send = (
  url: string,
  to = "ada@example.com",
  subject = "Hello",
  stopping: AbortSignal = new AbortController().signal,
) =>
  smtpTransport(new Sensitive(url), "vault@example.com").send(
    { to, subject, text: new Sensitive("Come in."), html: new Sensitive("<p>Come in.</p>") },
    stopping,
  );

describe("a message sent with SMTP", () => {
  it.each(['"ada lovelace"@example.com', '"ada@home"@example.com', '"a\\"b"@example.com', "ada@[192.0.2.1]"])(
    "goes to %s as it is written",
    async (to) => {
      const { url, heard } = await speaking({});
      expect(await send(url, to)).toBe("sent");
      expect(heard).toContain(`RCPT TO:<${to}>\r\n`);
    },
  );

  it("keeps its subject on its line", async () => {
    const { url, heard } = await speaking({});
    expect(await send(url, "ada@example.com", "Hello\r\nBcc: eve@example.com")).toBe("sent");
    expect(heard.join("")).not.toMatch(/^Bcc:/m);
    expect(heard.filter((line) => line.startsWith("RCPT"))).toEqual(["RCPT TO:<ada@example.com>\r\n"]);
  });

  it.each([
    ["sent", {}],
    ["refused", { RCPT: "550 no such user\r\n" }],
    ["refused", { message: "554 we do not like it\r\n" }],
    ["deferred", { RCPT: "451 try later\r\n" }],
    ["deferred", { message: "452 no room\r\n" }],
    ["deferred", { MAIL: "451 not now\r\n" }],
    ["sender_refused", { MAIL: "550 not from you\r\n" }],
    ["unreachable", { greeting: "421 too busy\r\n" }],
    ["unreachable", { greeting: "554 go away\r\n" }],
  ] as const)("is %s if the server replies %j", async (result, replies) => {
    const { url } = await speaking(replies);
    expect(await send(url)).toBe(result);
  });

  it("is distinguished from a login that the server rejects", async () => {
    const { url } = await speaking({ EHLO: "250-mail\r\n250 AUTH PLAIN\r\n", AUTH: "535 wrong password\r\n" });
    expect(await send(url.replace("//", "//vault:old-password@"))).toBe("login_refused");
  });

  it("is aborted during shutdown if the server is silent, and sent later", async () => {
    const stopping = new AbortController();
    const { url, heard } = await speaking({ MAIL: "" });
    const result = send(url, "ada@example.com", "Hello", stopping.signal);
    await expect.poll(() => heard.some((line) => line.startsWith("MAIL"))).toBe(true);
    stopping.abort();
    expect(await result).toBe("deferred");
  });

  it("may still be acknowledged during shutdown", async () => {
    const { url } = await speaking({});
    expect(await send(url, "ada@example.com", "Hello", AbortSignal.abort())).toBe("sent");
  });

  it("fails if there is no server", async () => {
    const { url } = await speaking({});
    for (const server of servers.splice(0)) server.close();
    expect(await send(url)).toBe("unreachable");
  });
});
