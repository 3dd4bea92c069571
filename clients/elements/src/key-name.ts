const FORM = /^key_[a-z]+_(pub|ses)_([0-9A-Za-z]{22})_/;

/** The name of a key in addresses: its kind, its tenant and the SHA-256 of the key. Undefined for other keys. */
export async function keyNameOf(key: string): Promise<string | undefined> {
  const [, kind, tenant] = FORM.exec(key) ?? [];
  if (kind === undefined || tenant === undefined) return undefined;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
  const text = btoa(String.fromCharCode(...hash));
  return `${kind}_${tenant}_${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}
