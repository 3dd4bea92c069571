import { setTimeout as pause } from "node:timers/promises";
import { UsageError } from "../command.js";
import type { ApiCall } from "./api-call.js";
import type { VaultAddress } from "./credentials.js";
import type { Profile } from "./profiles.js";
import { SignInClient } from "./sign-in-client.js";
import { textOf } from "./text-table.js";

/** Signs a person in: shows the code, and waits until the person has confirmed it at the issuer. */
export async function deviceLogin(call: ApiCall, vault: VaultAddress) {
  const signIns = new SignInClient(vault, call.signal);
  const begun = await signIns.begin(call.text("tenant"));
  const page = begun.verificationUriComplete ?? begun.verificationUri;
  // A page with the code in it shows the code, too: people compare both.
  for (const line of [`Open ${textOf(page)}`, `Code: ${textOf(begun.userCode)}`]) process.stderr.write(`${line}\n`);
  const endsAt = Date.now() + begun.expiresIn * 1_000;
  let waitSeconds = begun.interval;
  while (Date.now() < endsAt) {
    await pause(waitSeconds * 1_000, undefined, { signal: call.signal }).catch(() => call.signal.throwIfAborted());
    const result = await signIns.end();
    if (typeof result !== "number") return { person: result, profile: profileOf(vault, signIns.cookie) };
    waitSeconds = Math.max(waitSeconds, result);
  }
  throw new UsageError("The code is over. Run the command again.");
}

function profileOf({ url, caFile }: VaultAddress, cookie: string | undefined): Profile {
  if (cookie === undefined) throw new Error("the vault set no cookie");
  return { url, sign_in: cookie, ...(caFile === undefined ? {} : { ca_file: caFile }) };
}
