import { TestBrowser } from "../../support/test-browser.js";

/** Settings of a server whose issuer is never reached: a sign-in that its limits let through is a 503. */
export function unreachableIssuer(): Record<string, string> {
  return {
    OPENID_ISSUER: "http://127.0.0.1:9",
    OPENID_CLIENT_ID: "vault",
    OPENID_CLIENT_SECRET: "unused",
  };
}

/** Begins a sign-in at the issuer from an address. Returns the status. */
export async function beginAtIssuer(url: string, address: string, tenantId: string): Promise<number> {
  const headers = { "X-Forwarded-For": address };
  const { status } = await new TestBrowser(url).call("SignInService/BeginOpenIdSignIn", { tenantId }, { headers });
  return status;
}
