import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { terminal } from "../../base/terminal.js";
import { printable } from "../printable.js";
import { type PgpReader, PgpUnreadable } from "./pgp.js";

/**
 * What GnuPG reports of a message whose content authenticated. It also passes on messages that are only signed, and reports
 * their signer's name, which may be this text: so it must be a whole line. Others precede it.
 */
const AUTHENTICATED = /\n\[GNUPG:\] DECRYPTION_OKAY\r?\n/;

/** Reads with the keys of the user's GnuPG, whose agent asks for passphrases and knows smart cards. */
export const gpgReader: PgpReader = async function* (sealed) {
  const gpg = spawn("gpg", ["--batch", "--quiet", "--status-fd", "2", "--decrypt"], {
    env: terminal().env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = once(gpg, "close").catch(() => {
    throw new PgpUnreadable("needs the program gpg, or --pgp-key with a private key");
  });
  // GnuPG may end before it has read everything, which its status tells better.
  const fed = pipeline(Readable.from(sealed), gpg.stdin).catch(() => {});
  let report = "";
  gpg.stderr.setEncoding("utf8").on("data", (text: string) => {
    report = (report + text).slice(-8_192);
  });
  try {
    for await (const piece of gpg.stdout) yield Buffer.from(piece);
    await ended;
    await fed;
    if (gpg.exitCode !== 0 || !AUTHENTICATED.test(report)) throw new PgpUnreadable(reasonIn(report));
  } finally {
    gpg.kill();
  }
};

function reasonIn(report: string): string {
  const said = report
    .split("\n")
    .filter((line) => line.startsWith("gpg: "))
    .at(-1);
  if (said === undefined) return "is not encrypted with PGP";
  return `cannot be decrypted by gpg, which says: ${printable(said.slice("gpg: ".length))}`;
}
