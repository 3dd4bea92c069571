import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Clock } from "../../../src/base/clock.js";
import { linkIn, type Mailbox, newMailbox, textOf } from "../../support/mail.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const PASSWORD = "s3cret/of:the@mail";
const REFUSED = "gone@example.com";
const GREYLISTED = "slow@example.com";

/** Mails are counted by the hour of the clock: at its end this clock is ahead, in the next hour. */
function earlyInHour(): Clock {
  const leftMs = 3_600_000 - (Date.now() % 3_600_000);
  const aheadMs = leftMs < 15 * 60_000 ? leftMs : 0;
  return { now: () => Date.now() + aheadMs };
}

let mailbox: Mailbox;
let server: ServerHere;
let tenant: TestTenant;
const asked = new Map<string, number>();
beforeAll(async () => {
  mailbox = await newMailbox({
    login: { user: "vault", pass: PASSWORD },
    refuse(address) {
      const before = asked.get(address) ?? 0;
      asked.set(address, before + 1);
      if (address === REFUSED) return { code: 550 };
      return address === GREYLISTED && before === 0 ? { code: 451 } : undefined;
    },
  });
  server = await startServerHere(
    { SMTP_URL_FILE: "{directory}/smtp-url", MAIL_FROM: "The Vault <vault@example.com>" },
    { files: { "smtp-url": `${mailbox.url}\n` }, clock: earlyInHour() },
  );
  tenant = await newTenant(server.url, server.environment);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await mailbox?.[Symbol.asyncDispose]();
});

const invite = async (email: string) => {
  const { status, body } = await tenant.manage("POST", "/tenants/self/invitations", { body: { email } });
  expect(status).toBe(201);
  return body;
};
const mailsTo = (email: string) => mailbox.mails.filter(({ to }) => to.includes(email));
const arrived = (email: string, count: number) =>
  vi.waitFor(() => expect(mailsTo(email)).toHaveLength(count), { interval: 100 });
const opens = async (email: string, which: number) => {
  const link = linkIn(mailsTo(email)[which]?.text ?? "");
  return (await fetch(link)).status;
};

describe("the message of an invitation", () => {
  const WAITING = ["reader@example.com", "twice@example.com", "a@[192.0.2.1]", REFUSED, GREYLISTED];

  it("is sent once the mail server is back, and once only", async () => {
    await tenant.manage("PUT", "/tenants/self", { body: { name: "Müller & Söhne\u2028Bcc: eve@example.com" } });
    for (const email of WAITING) await invite(email);
    await vi.waitFor(() => expect(server.said()).toContain("the mail server cannot be reached"));
    expect(mailbox.mails).toEqual([]);
    await mailbox.open();
    for (const email of WAITING.filter((each) => each !== REFUSED)) await arrived(email, 1);
    expect(await opens("reader@example.com", 0)).toBe(200);
    await invite("last@example.com");
    await arrived("last@example.com", 1);
    expect(mailbox.mails).toHaveLength(WAITING.length);
  });

  it("contains what it is about, from the operator's address", async () => {
    const [mail] = mailsTo("reader@example.com");
    expect(mail).toMatchObject({ to: ["reader@example.com"], from: "vault@example.com" });
    expect(mail?.raw).toMatch(/^From: The Vault <vault@example\.com>\r$/m);
    expect(mail?.raw).not.toMatch(/^Bcc:/im);
    expect(mail?.text).toContain(
      "An administrator invites you to become a member (ADMIN) of “Müller & Söhne Bcc eve example com”",
    );
    expect(mail?.raw).toMatch(/^Subject: Invitation to Cloakroom at 127\.0\.0\.1:\d+\r$/m);
    const html = textOf(mail?.raw ?? "", "text/html");
    expect(html).toContain("&#8220;M&#252;ller &#38; S&#246;hne Bcc eve example com&#8221;");
    expect(html).toContain(`<a href="${linkIn(mail?.text ?? "")}">`);
    expect(linkIn(mail?.text ?? "")).toMatch(
      new RegExp(`^${server.url}/invitations/inv_[0-9A-Za-z]{22}_[0-9A-Za-z]{22}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$`),
    );
  });

  it("is retried if the server asks for that, and not if it refuses", () => {
    expect(server.said()).toContain("the mail server refused a message for good");
    expect(asked.get(GREYLISTED)).toBe(2);
    expect(asked.get(REFUSED)).toBe(1);
  });

  it("is sent again with another link, which ends the earlier ones; none is sent once it is withdrawn", async () => {
    const { body } = await tenant.manage("GET", "/tenants/self/invitations");
    const { id } = body.data.find(({ email }: { email: string }) => email === "twice@example.com");
    expect(await opens("twice@example.com", 0)).toBe(200);
    expect((await tenant.manage("POST", `/tenants/self/invitations/${id}/resend`)).status).toBe(200);
    expect(await opens("twice@example.com", 0)).toBe(404);
    await arrived("twice@example.com", 2);
    expect(await opens("twice@example.com", 1)).toBe(200);

    await mailbox.close();
    expect((await tenant.manage("POST", `/tenants/self/invitations/${id}/resend`)).status).toBe(200);
    expect((await tenant.manage("DELETE", `/tenants/self/invitations/${id}`)).status).toBe(204);
    await mailbox.open();
    await invite("after@example.com");
    await arrived("after@example.com", 1);
    expect(mailsTo("twice@example.com")).toHaveLength(2);
    expect(await opens("twice@example.com", 1)).toBe(404);
  });

  it("is sent 5 times an hour to one address; further ones wait, and do not keep others back", async () => {
    const email = "flooded@example.com";
    const { id } = await invite(email);
    await arrived(email, 1);
    for (let time = 2; time <= 7; time += 1) {
      expect((await tenant.manage("POST", `/tenants/self/invitations/${id}/resend`)).status).toBe(200);
      const expected = time <= 5 ? `${time} mails` : undefined;
      if (expected) await arrived(email, time);
    }
    await invite("unaffected@example.com");
    await arrived("unaffected@example.com", 1);
    expect(mailsTo(email)).toHaveLength(5);
  });

  it("is sent 50 times an hour for one tenant, whatever is asked for at once", async () => {
    const other = await newTenant(server.url, server.environment);
    const inviting = (name: string) =>
      other.manage("POST", "/tenants/self/invitations", { body: { email: `${name}@elsewhere.example` } });
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => inviting(`person-${index}`)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(50);
    expect(refused).toHaveLength(10);
    expect(refused[0]?.body.detail).toMatch(/50 invitations an hour/);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("leaves neither links nor addresses nor the password in the server's output", () => {
    const said = server.said();
    for (const { text } of mailbox.mails) expect(said).not.toContain(linkIn(text).split("/").at(-1));
    expect(said).not.toContain("@example.com");
    expect(said).not.toContain(PASSWORD);
    expect(said).not.toContain("No mail server is set");
  });
});
