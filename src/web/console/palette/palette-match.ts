/** Something that the palette leads to. */
export interface PaletteEntry {
  /** What it is, such as "Proxy". */
  readonly kind: string;
  readonly name: string;
  readonly path: string;
}

/** The entries whose name or kind has every word of the text, those that begin with it first. Otherwise in their order. */
export function matching(entries: readonly PaletteEntry[], text: string): PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const first = words.join(" ");
  const found = entries.filter(({ kind, name }) => {
    const own = `${name} ${kind}`.toLowerCase();
    return words.every((word) => own.includes(word));
  });
  const [begin, rest] = [true, false].map((begins) =>
    found.filter(({ name }) => name.toLowerCase().startsWith(first) === begins),
  );
  return [...(begin ?? []), ...(rest ?? [])];
}
