import { store, stored } from "./browser-storage.js";

const NAME = "cloakroom-at-issuer";

/** Remembers that this tab goes to the issuer's page to sign in. */
export function noteLeftForIssuer(): void {
  store("sessionStorage", NAME, "1");
}

/** Whether this tab went to the issuer's page since the last call. */
export function takeLeftForIssuer(): boolean {
  const hasLeft = stored("sessionStorage", NAME) !== null;
  store("sessionStorage", NAME, null);
  return hasLeft;
}
