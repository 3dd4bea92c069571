import { setTimeout as pause } from "node:timers/promises";
import { CloakroomError } from "@cloakroom/client";
import { terminal } from "../../base/terminal.js";
import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import type { VaultAddress } from "./credentials.js";
import type { Profile } from "./profiles.js";
import { SignInClient } from "./sign-in-client.js";
import { cellText } from "./text-table.js";

const MAX_PAUSE_SECONDS = 60;

/** Signs a person in: shows the code, and waits until the person has confirmed it at the issuer. */
export async function deviceLogin(call: ApiCall, vault: VaultAddress) {
  const signIns = new SignInClient(vault, call.signInOptions());
  const begun = await signIns.begin(call.text("tenant"));
  const page = begun.verificationUriComplete ?? begun.verificationUri;
  // A page with the code in it shows the code, too: people compare both.
  for (const line of [`Open ${cellText(page)}`, `Code: ${cellText(begun.userCode)}`])
    terminal().stderr.write(`${line}\n`);
  const endsAt = Date.now() + begun.expiresIn * 1_000;
  let waitSeconds = begun.interval;
  while (Date.now() < endsAt) {
    await pause(waitSeconds * 1_000, undefined, { signal: call.signal }).catch(() => call.signal.throwIfAborted());
    const result = await signIns.end().catch((error: unknown) => longerPause(error, waitSeconds));
    if (typeof result !== "number") return { person: result, profile: profileOf(vault, signIns.cookie) };
    waitSeconds = Math.max(waitSeconds, result);
  }
  throw new UsageError("The code has expired. Run the command again.");
}

/** Waits twice as long where vault or issuer do not respond in time (RFC 8628, 3.5). Throws any other error. */
function longerPause(error: unknown, seconds: number): number {
  const mayPass = ["unavailable", "connection_failed", "timeout", "rate_limited"];
  if (error instanceof CloakroomError && mayPass.includes(error.code)) return Math.min(2 * seconds, MAX_PAUSE_SECONDS);
  throw error;
}

function profileOf({ url, caFile }: VaultAddress, cookie: string | undefined): Profile {
  if (cookie === undefined) throw new Error("the vault set no cookie");
  return { url, sign_in: cookie, ...(caFile === undefined ? {} : { ca_file: caFile }) };
}
