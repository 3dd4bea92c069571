/** Longest text that is searched for a key: a chain of certificates has some 10 KB. */
const MAX_CHARACTERS = 64 * 1024;

/** By the order in which Node looks for them, wherever in the text they are. */
const PRIVATE_LABELS = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"] as const;
const PUBLIC_LABELS = ["PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE", ...PRIVATE_LABELS] as const;

export interface PemBlock {
  readonly label: string;
  readonly isPrivate: boolean;
  readonly der: Uint8Array;
  /** The block alone, written from its bytes: what OpenSSL reads is what was checked. */
  readonly text: string;
}

/**
 * The key in a PEM text.
 *
 * @throws {Error} for keys with a passphrase: how long such a key takes to open is written in it, and nothing could interrupt
 * that.
 */
export function readPem(text: string, role: "private" | "public"): PemBlock {
  if (text.length > MAX_CHARACTERS) throw new RangeError(`A key may have at most ${MAX_CHARACTERS} characters.`);
  if (text.includes("ENCRYPTED")) throw new Error("Keys with a passphrase are not supported here.");
  for (const label of role === "private" ? PRIVATE_LABELS : PUBLIC_LABELS) {
    const content = between(text, `-----BEGIN ${label}-----`, `-----END ${label}-----`);
    if (content === undefined) continue;
    const der = Buffer.from(content, "base64");
    const lines = der.toString("base64").replace(/.{64}/g, "$&\n").trimEnd();
    return {
      label,
      der,
      isPrivate: label.endsWith("PRIVATE KEY"),
      text: `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`,
    };
  }
  throw new Error("error:1E08010C:DECODER routines::unsupported");
}

function between(text: string, start: string, end: string): string | undefined {
  const from = text.indexOf(start);
  const to = text.indexOf(end, from);
  return from < 0 || to < 0 ? undefined : text.slice(from + start.length, to);
}
