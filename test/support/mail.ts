import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";
import { inject, vi } from "vitest";

/** A message as it arrived. */
export interface ReceivedMail {
  /** The recipients given to the server. */
  readonly to: readonly string[];
  readonly from: string;
  /** Headers and body as they were sent. */
  readonly raw: string;
  /** The text that a reader sees. */
  readonly text: string;
}

/** A mail server on loopback that can be unavailable for a while. */
export interface Mailbox extends AsyncDisposable {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** The number of connection attempts, also failed ones. */
  readonly visits: () => number;
  open(): Promise<void>;
  close(): Promise<void>;
}

export interface MailboxRules {
  /** The user and password that it requires. */
  readonly login?: { readonly user: string; readonly pass: string };
  /** The response to a recipient; undefined: accepted. */
  readonly refuse?: (address: string) => { readonly code: number } | undefined;
}

/** A port without a listener. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

export async function newMailbox({ login, refuse }: MailboxRules = {}): Promise<Mailbox> {
  const port = await freePort();
  const mails: ReceivedMail[] = [];
  let visits = 0;
  let server: SMTPServer | undefined;
  const open = async () => {
    const opened = new SMTPServer({
      authOptional: login === undefined,
      disabledCommands: ["STARTTLS"],
      onConnect(_session, callback) {
        visits += 1;
        callback();
      },
      onAuth({ username, password }, _session, callback) {
        if (username === login?.user && password === login?.pass) return callback(null, { user: username });
        callback(new Error("wrong password"));
      },
      onRcptTo({ address }, _session, callback) {
        const refusal = refuse?.(address);
        callback(refusal ? Object.assign(new Error(`${address} is not taken`), { responseCode: refusal.code }) : null);
      },
      onData(stream, session, callback) {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => {
          const raw = Buffer.concat(chunks).toString();
          const from = session.envelope.mailFrom ? session.envelope.mailFrom.address : "";
          mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), from, raw, text: textOf(raw) });
          callback();
        });
      },
    });
    opened.on("error", () => {});
    await new Promise<void>((resolve) => opened.listen(port, "127.0.0.1", () => resolve()));
    server = opened;
  };
  const close = async () => {
    const open = server;
    server = undefined;
    if (open) await new Promise<void>((resolve) => open.close(() => resolve()));
  };
  const user = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.pass)}@` : "";
  return {
    ...{ url: `smtp://${user}127.0.0.1:${port}`, mails, visits: () => visits, open, close },
    [Symbol.asyncDispose]: close,
  };
}

/** The part of a message with this type, or its only part, decoded. */
export function textOf(raw: string, type = "text/plain"): string {
  const message = raw.replaceAll("\r\n", "\n");
  const boundary = /^Content-Type: multipart\/alternative;\s+boundary="([^"]+)"/im.exec(message)?.[1];
  const parts = boundary === undefined ? [message] : message.split(`--${boundary}`).slice(1);
  const part = parts.find((each) => boundary === undefined || new RegExp(`^Content-Type: ${type}`, "im").test(each));
  if (part === undefined) throw new Error(`there is no ${type} in: ${message}`);
  return decoded(part);
}

function decoded(part: string): string {
  const [head = "", ...rest] = part.trimStart().split("\n\n");
  const body = rest.join("\n\n");
  const encoding = /^Content-Transfer-Encoding: (\S+)/im.exec(head)?.[1]?.toLowerCase();
  if (encoding === "base64") return Buffer.from(body, "base64").toString();
  if (encoding !== "quoted-printable") return body;
  const bytes = body
    .replaceAll("=\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

/** The link in an invitation message. */
export function linkIn(text: string): string {
  const [link] = /https?:\/\/\S+\/invitations\/\S+/.exec(text) ?? [];
  if (!link) throw new Error(`there is no link in: ${text}`);
  return link;
}

/** The links that a server without a mail server has written to files for an address, oldest first. */
export function linksInFiles(email: string, environment: Readonly<Record<string, string>>): string[] {
  const directory = join(environment.CLOAKROOM_DATA_DIR ?? "", "mail");
  if (!existsSync(directory)) return [];
  const texts = readdirSync(directory)
    .filter((name) => name.endsWith(".eml"))
    .toSorted()
    .map((name) => readFileSync(join(directory, name), "utf8"));
  return texts.filter((text) => text.includes(`\nTo: ${email}\n`)).map((text) => linkIn(textOf(text)));
}

/** Waits until a message with another link has been written for an address, and returns the link. */
export function nextLink(
  email: string,
  seen: number,
  environment: Readonly<Record<string, string>> = inject("serverEnvironment"),
): Promise<string> {
  return vi.waitFor(
    () => {
      const link = linksInFiles(email, environment)[seen];
      if (!link) throw new Error(`no message has been written for ${email}`);
      return link;
    },
    { interval: 100 },
  );
}
