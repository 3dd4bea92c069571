import { once } from "node:events";
import { createServer, type Server } from "node:http";
import Provider, { type InteractionResult } from "oidc-provider";

/** How an account proves who it is, other than by a password just now. */
export interface IssuerProof {
  readonly amr?: readonly string[];
  readonly acr?: string;
  /** Seconds since 1970. */
  readonly ts?: number;
}

const CLIENT = { id: "cloakroom", secret: "issuer-secret" };

/** An OpenID Connect issuer at which anyone logs in under any account, without a password. */
export class OidcIssuer {
  readonly #server: Server;
  readonly url: string;
  /** Claims of accounts besides the defaults. */
  readonly accounts = new Map<string, object>();
  readonly proofs = new Map<string, IssuerProof>();

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Opens its port. It answers nothing until {@link serve}. */
  static async open(): Promise<OidcIssuer> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return new OidcIssuer(server, address.port);
  }

  /** The settings of a vault whose people sign in here. */
  get settings(): Record<string, string> {
    return {
      OPENID_ISSUER: this.url,
      OPENID_CLIENT_ID: CLIENT.id,
      OPENID_CLIENT_SECRET: CLIENT.secret,
      EGRESS_ALLOW: new URL(this.url).host,
    };
  }

  /** Breaks off the next request. */
  refuseOnce(): void {
    this.#server.once("request", (request) => request.socket.destroy());
  }

  /** Answers from now on, for the vault at this address. */
  serve(vaultUrl: string): void {
    const { accounts, proofs } = this;
    const provider = new ProvingProvider(proofs, this.url, {
      clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [`${vaultUrl}/sign-in/openid`] }],
      claims: {
        openid: ["sub", "amr", "acr"],
        email: ["email", "email_verified"],
        profile: ["given_name", "family_name"],
      },
      pkce: { required: () => true },
      cookies: { keys: ["a key of a test"] },
      features: { devInteractions: { enabled: true } },
      findAccount: (_: unknown, accountId: string) => ({
        accountId,
        claims: () => ({
          sub: accountId,
          email: `${accountId}@example.com`,
          email_verified: true,
          ...accounts.get(accountId),
        }),
      }),
    });
    this.#server.removeAllListeners("request");
    this.#server.on("request", provider.callback());
  }

  close(): void {
    this.#server.close();
  }
}

/** Its logins say how and when the person was authenticated. */
class ProvingProvider extends Provider {
  readonly #proofs: ReadonlyMap<string, IssuerProof>;

  constructor(proofs: ReadonlyMap<string, IssuerProof>, url: string, configuration: object) {
    super(url, configuration);
    this.#proofs = proofs;
  }

  override interactionFinished(request: unknown, response: unknown, result: InteractionResult, options: object) {
    const { login } = result;
    const proved = login ? { ...result, login: { ...login, ...this.#proofs.get(login.accountId) } } : result;
    return super.interactionFinished(request, response, proved, options);
  }
}

/** What a page of the issuer asks next: a form to fill in, or an address to go on to. */
export type IssuerStep = { readonly html: string; readonly action: string | undefined } | { readonly next: string };

/** A person's browser at the issuer's pages. */
export class IssuerBrowser {
  readonly #cookies = new Map<string, string>();

  /** Opens an address, or submits a form to it. */
  async open(address: string, form?: URLSearchParams): Promise<IssuerStep> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(address, {
      redirect: "manual",
      headers: { Cookie: cookie },
      ...(form ? { method: "POST", body: form } : {}),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.#cookies.set(name, value);
    }
    const next = response.headers.get("location");
    if (next) return { next: new URL(next, address).href };
    const html = await response.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1];
    return { html, action: action === undefined ? undefined : new URL(action, address).href };
  }
}

/** Logs in at the issuer's page, and returns the address of the vault to which it sends the browser back. */
export async function logInAtIssuer(vaultUrl: string, page: string, account: string): Promise<string> {
  const browser = new IssuerBrowser();
  let address = page;
  let form: URLSearchParams | undefined;
  for (let shown = 0; shown < 12; shown += 1) {
    const step = await browser.open(address, form);
    if ("next" in step) {
      form = undefined;
      address = step.next;
      if (address.startsWith(vaultUrl)) return address;
      continue;
    }
    if (!step.action) throw new Error(`the issuer shows no form: ${step.html.slice(0, 500)}`);
    address = step.action;
    const isLogin = step.html.includes('value="login"');
    form = new URLSearchParams(isLogin ? { prompt: "login", login: account, password: "x" } : { prompt: "consent" });
  }
  throw new Error("the login at the issuer does not end");
}
