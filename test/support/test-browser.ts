import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { inject, vi } from "vitest";
import { asServer } from "../../src/audit/tenant-database.js";
import type { Clock } from "../../src/base/clock.js";
import { isTenantId } from "../../src/base/ids.js";
import { createOperatorLink, memberWithAddress } from "../../src/people/sign-in-link.js";
import type { Vault } from "../../src/vault/vault.js";
import { textOf } from "./mail.js";
import type { RestResponse } from "./rest.js";
import { withVault } from "./tenant.js";

const AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

export interface BrowserCall {
  /** Replaces headers of the vault's own page; undefined: leaves it out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly method?: string;
}

/** A browser with the vault's page open: it keeps cookies, and sends what a page's fetch() sends. */
export class TestBrowser {
  readonly url: string;
  readonly cookies = new Map<string, string>();

  constructor(url: string = inject("serverUrl")) {
    this.url = url;
  }

  /** Calls `SignInService/WhoAmI` and the like over Connect JSON. */
  async call(operation: string, body: object = {}, { headers = {}, method = "POST" }: BrowserCall = {}) {
    const response = await fetch(`${this.url}/cloakroom.v1.${operation}`, {
      method,
      headers: this.#headersOfPage({ "Content-Type": "application/json", ...headers }),
      ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
    });
    return this.#read(response);
  }

  /** Opens a stream over Connect JSON, and leaves it after its first message or error. */
  async callStream(operation: string): Promise<{ readonly code: string | undefined; readonly message: string }> {
    const response = await fetch(`${this.url}/cloakroom.v1.${operation}`, {
      method: "POST",
      headers: this.#headersOfPage({ "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1" }),
      body: encodeEnvelope(0, Buffer.from("{}")),
    });
    const reader = response.body?.getReader();
    const { value = new Uint8Array() } = (await reader?.read()) ?? {};
    await reader?.cancel();
    const { error } = JSON.parse(Buffer.from(value.subarray(5)).toString());
    return { code: error?.code, message: String(error?.message ?? "") };
  }

  #headersOfPage(headers: Readonly<Record<string, string | undefined>>): [string, string][] {
    const all = {
      // A connection that waits may be closed just as it is used again, which HTTP/1.1 cannot tell from a failure.
      Connection: "close",
      "User-Agent": AGENT,
      "Sec-Fetch-Site": "same-origin",
      "X-Cloakroom-Console": "1",
      ...(this.cookies.size > 0 ? { Cookie: this.cookieHeader() } : {}),
      ...headers,
    };
    return Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
  }

  /** Opens an address, without following a redirect. */
  async open(address: string, headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<RestResponse> {
    const cookies = this.cookies.size > 0 ? { Cookie: this.cookieHeader() } : {};
    const sent = { "User-Agent": AGENT, ...cookies, ...headers };
    return this.#read(await fetch(address, { method, redirect: "manual", headers: sent }));
  }

  cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  /** The cookie with this part in its name. */
  cookie(part: string): string | undefined {
    return [...this.cookies].find(([name]) => name.includes(part))?.[1];
  }

  async #read(response: Response): Promise<RestResponse> {
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0/.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const text = await response.text();
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text };
  }
}

type Environment = Readonly<Record<string, string>>;

/** The secrets of the sign-in links that a server without a mail server has written for an address, oldest first. */
export function signInLinks(email: string, environment: Environment = inject("serverEnvironment")): string[] {
  const directory = join(environment.CLOAKROOM_DATA_DIR ?? "", "mail");
  // The server makes the folder with its first mail.
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names
    .filter((name) => name.endsWith(".eml"))
    .toSorted()
    .map((name) => readFileSync(join(directory, name), "utf8"))
    .filter((raw) => raw.includes(`\nTo: ${email}\n`))
    .flatMap((raw) => /\/console\/sign-in#(lnk_\w+)/.exec(textOf(raw))?.[1] ?? []);
}

/** Waits for the mailed link after `seen` others. */
export function nextSignInLink(email: string, seen = 0, environment?: Environment): Promise<string> {
  return vi.waitFor(
    () => {
      const link = signInLinks(email, environment)[seen];
      if (!link) throw new Error(`no sign-in link has been written for ${email}`);
      return link;
    },
    { interval: 100 },
  );
}

/** A link of the operator for a member, as `cloakroom members sign-in-link` makes it. */
export async function operatorLink(
  tenantId: string,
  email: string,
  environment: Environment = inject("serverEnvironment"),
  clock?: Clock,
): Promise<string> {
  if (!isTenantId(tenantId)) throw new Error("not the id of a tenant");
  const makeLink = async (vault: Vault) => {
    const keys = await vault.keyring.of(tenantId);
    const member = await asServer(vault.database, keys).ordinary((tx) => memberWithAddress(tx, email));
    if (!member) throw new Error(`${email} is no member`);
    return (await createOperatorLink(vault, tenantId, member.id)).reveal();
  };
  return await withVault(environment, makeLink, clock);
}

/** A browser in which a member is signed in, by a link of the operator. */
export async function signedIn(
  tenantId: string,
  email: string,
  url?: string,
  environment?: Environment,
): Promise<TestBrowser> {
  const browser = new TestBrowser(url);
  const link = await operatorLink(tenantId, email, environment);
  const { status, body } = await browser.call("SignInService/TakeSignInLink", { link });
  if (status !== 200) throw new Error(`signing in returned ${status}: ${JSON.stringify(body)}`);
  return browser;
}
